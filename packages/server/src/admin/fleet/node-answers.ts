// What a follower answers its control node: its samples, and how a caller stands in its counters. All of it is bounded
// here, so that a busy node does not send what is not taken.

import type { Explanation } from "sluice/rules";
import { wallMs } from "../../base/clock.js";
import {
  type AnswerQuestion,
  COUNTERS_MAX,
  LATEST_COUNT_MAX,
  type NodeAnswer,
  type NodeCounter,
  type NodeQuestion,
  type NodeSamples,
  type NodeStanding,
  type NodeStore,
  SINCE_CHARS_MAX,
  SINCE_COUNT_MAX,
} from "../../control/feed/node-question.js";
import type { Core } from "../../core/core.js";
import { charsOf } from "../../telemetry/samples/to-sampled-facts.js";
import type { AdminControl } from "../service-control.js";
import { toNodeStore } from "./node-store.js";

/** What questions are answered from. */
export interface AnswerSources {
  readonly core: Core;
  readonly control: Pick<AdminControl, "latestSamples" | "samplesSince">;
}

/** Answers questions about this node. */
export function toAnswering(sources: AnswerSources): AnswerQuestion {
  const store = toNodeStore(sources.core.config);
  return async ({ id, question }) => {
    const parts = await answer(sources, question, store);
    return { id, nowMs: wallMs(), store, ...parts };
  };
}

async function answer(
  sources: AnswerSources,
  question: NodeQuestion,
  store: NodeStore,
): Promise<Partial<NodeAnswer>> {
  const { core, control } = sources;
  switch (question.kind) {
    case "since": {
      const countMax = Math.min(question.countMax, SINCE_COUNT_MAX);
      const whole = await samplesSince(sources, wallMs() - question.spanMs);
      return { since: newestOf(whole, countMax) };
    }
    case "latest": {
      const limit = Math.min(question.query.limit ?? LATEST_COUNT_MAX, LATEST_COUNT_MAX);
      const query = { ...question.query, limit };
      const found = control.latestSamples?.(query) ?? core.telemetry.samples.latest(query);
      return { latest: await found };
    }
    case "explain":
      if (question.exceptStore === store.id) return {};
      return { standing: await standingOf(core, question.facts) };
    default:
      // A question of a later version.
      return {};
  }
}

/** All decisions about sampled keys of this node since a time by the wall clock. */
export async function samplesSince(
  { core, control }: AnswerSources,
  sinceMs: number,
): Promise<NodeSamples> {
  const { samples } = core.telemetry;
  const report = await (control.samplesSince?.(sinceMs) ?? samples.since(sinceMs));
  const { fromMs, whole } = report;
  const kept = report.samples.map(({ atMs, outcome, facts }) => ({ atMs, outcome, facts }));
  return { fromMs, keys: { ...whole, seed: samples.seed }, samples: kept };
}

/** As many as may be sent. */
function newestOf({ fromMs, keys, samples }: NodeSamples, countMax: number): NodeSamples {
  let chars = 0;
  let at = samples.length;
  for (; at > 0 && samples.length - at < countMax; at--) {
    const { facts } = samples[at - 1];
    chars += facts === null ? 0 : charsOf(facts);
    if (chars > SINCE_CHARS_MAX) break;
  }
  // Others of the same millisecond may be missing.
  const beginMs = at === 0 ? fromMs : Math.max(fromMs, samples[at - 1].atMs + 1);
  return { fromMs: beginMs, keys, samples: samples.slice(at) };
}

async function standingOf(
  { policy, blindPolicy }: Core,
  facts: Parameters<Core["policy"]["explain"]>[0],
): Promise<NodeStanding> {
  const explanation = await (blindPolicy ?? policy).explain(facts, { counters: true });
  const { allowed, rule } = explanation;
  return { allowed, rule, counters: countersOf(explanation).slice(0, COUNTERS_MAX) };
}

/** Those of the rules that match first. */
function countersOf({ rules }: Explanation): NodeCounter[] {
  const matchingFirst = [...rules].sort((a, b) => Number(b.isMatch) - Number(a.isMatch));
  return matchingFirst.flatMap(({ rule, key, limits, blockedMs }) =>
    key === null
      ? []
      : limits.map(({ limit, remaining, resetMs, wouldPass }) => {
          return { rule, key, limit, remaining, resetMs, wouldPass, blockedMs };
        }),
  );
}
