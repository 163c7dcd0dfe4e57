// One sentence about each algorithm: what to look at in this very run.

import { formatCount, formatDuration } from "../../../ui/formats/format.js";
import { type Algorithm, isPossible } from "./algorithms.js";
import type { Findings, WorstInterval } from "./findings.js";
import type { Settings } from "./settings.js";
import type { Run } from "./simulate.js";

/** What a sentence is about. */
export interface Story {
  readonly run: Run;
  readonly findings: Findings;
  readonly settings: Settings;
}

/** What to look at. */
export function sayOf(story: Story): string {
  const { admitted, delayed, refused } = story.findings;
  if (admitted + delayed + refused === 0) return "No requests yet.";
  if (!isPossible(story.run.algorithm, story.settings))
    return `A request costs ${story.settings.cost} units, more than the limit has: none can pass.`;
  return SAY[story.run.algorithm](story) + sayRetries(story);
}

/** How many requests it took to serve clients that retry. */
function sayRetries({ run, findings }: Story): string {
  const served = findings.admitted + findings.delayed;
  const sent = run.attempts.length;
  const isRetried = run.attempts.some(({ retries }) => retries > 0);
  return isRetried ? ` It took ${formatCount(sent)} requests to serve ${formatCount(served)}.` : "";
}

const SAY: Readonly<Record<Algorithm, (story: Story) => string>> = {
  fixedWindow: sayFixed,
  slidingWindowLog: sayLog,
  slidingWindowCounter: sayCounter,
  tokenBucket: sayBucket,
  leakyBucket: sayLeaky,
  concurrency: sayConcurrency,
  quota: sayQuota,
};

function sayFixed({ findings, settings }: Story): string {
  const { worst, refused } = findings;
  if (worst !== undefined && worst.units > settings.limit)
    return `Admits ${units(worst.units)} ${within(worst)} across the edge of a window: ${times(worst.units / settings.limit)} the limit.`;
  if (refused > 0)
    return "Spends each window as fast as requests come, then refuses until the window ends.";
  return "Nothing is refused, and no burst crosses the edge of a window.";
}

function sayLog({ findings, settings }: Story): string {
  const { worst, refused } = findings;
  const most = `${units(worst?.units ?? 0)} in any ${lengthOf(settings.windowMs)}`;
  if (refused === 0) return `Admits everything: never more than ${most}.`;
  return `Never more than ${most}, wherever the interval starts: each unit comes back exactly one window later.`;
}

function sayCounter({ findings, settings }: Story): string {
  const { worst, refused } = findings;
  const got = worst?.units ?? 0;
  if (got > settings.limit)
    return `Estimates from two counters, so the worst ${lengthOf(settings.windowMs)} has ${units(got)}: ${times(got / settings.limit)} the limit.`;
  if (refused === 0) return "Admits everything, with two counters for each key.";
  return "Close to the log with two counters for each key: the last window fades out instead of ending.";
}

function sayBucket({ findings, settings }: Story): string {
  const { refused, worst } = findings;
  const everyMs = settings.windowMs / settings.limit;
  if (refused === 0)
    return `A token comes back every ${formatDuration(everyMs)}; the bucket of ${units(settings.burst)} was never empty.`;
  const extra =
    worst !== undefined && worst.units > settings.limit
      ? ` A full bucket and its refill make ${units(worst.units)} in one ${lengthOf(settings.windowMs)}.`
      : "";
  return `Admits bursts of up to ${units(settings.burst)}, then one every ${formatDuration(everyMs)}.${extra}`;
}

function sayLeaky({ run, findings, settings }: Story): string {
  const { delayed, refused } = findings;
  const everyMs = (settings.windowMs / settings.limit) * settings.cost;
  if (delayed === 0 && refused === 0) return "Requests are far enough apart: none has to wait.";
  const longestMs = Math.max(...run.attempts.map(({ decision }) => decision.delayMs));
  const waited = `Lets one leave every ${formatDuration(everyMs)}: bursts wait up to ${formatDuration(longestMs)}`;
  return refused === 0
    ? `${waited}, and none is refused.`
    : `${waited}, and what the queue can't hold is refused.`;
}

function sayConcurrency({ findings, settings }: Story): string {
  const { refused, inFlightMax } = findings;
  const held = `each held for ${formatDuration(settings.holdMs)}`;
  if (refused === 0)
    return `At most ${formatCount(inFlightMax)} of ${formatCount(settings.limit)} permits in use, ${held}: it limits load, not rate.`;
  return `All ${formatCount(settings.limit)} permits in use, ${held}: refuses until one is released.`;
}

function sayQuota({ findings, settings }: Story): string {
  const { refused } = findings;
  const amount = `${units(settings.quota)} a day`;
  if (refused === 0) return `${amount} are enough for this run. They come back at midnight UTC.`;
  return `Used up: refuses until the day ends at midnight UTC. For plans and budgets, not for bursts.`;
}

/** `in one minute`: the length of a window in words. */
export function lengthOf(windowMs: number): string {
  const text = formatDuration(windowMs);
  const words: Readonly<Record<string, string>> = {
    "1 s": "second",
    "60 s": "minute",
    "60 min": "hour",
  };
  return words[text] ?? text;
}

function units(count: number): string {
  return formatCount(count);
}

function within({ fromMs, toMs }: WorstInterval): string {
  return `within ${formatDuration(Math.max(1, toMs - fromMs))}`;
}

/** `twice`, `1.5 times`. */
function times(ratio: number): string {
  const rounded = Math.round(ratio * 10) / 10;
  if (rounded === 2) return "twice";
  if (rounded === 3) return "three times";
  return `${rounded} times`;
}
