// Reads what this node did since the last reading, all of its processes together. The live stream of this node reads it
// each second; a follower besides whenever its control node asks.

import { readMs, wallMs } from "../../../base/clock.js";
import type { Core } from "../../../core/core.js";
import type { LiveCounts } from "../../../telemetry/live/live-counts.js";
import {
  NODE_FIRST_REFUSALS_MAX,
  NODE_KEYS_MAX,
  NODE_NOTICES_MAX,
  NODE_REFUSALS_MAX,
  NODE_RULES_MAX,
  NODE_STRING_LENGTH_MAX,
  type NodeLive,
  type NodeRefusal,
  type NodeSecond,
  type PastSecond,
} from "../../../telemetry/live/node-second.js";
import type { SampledDecision } from "../../../telemetry/samples/sampled-decision.js";
import { sizeOf, subtractOutcomes } from "../../../telemetry/tally/outcome-counts.js";
import { HISTORY_SECONDS_MAX, type LiveSecond } from "../../../telemetry/tally/second-history.js";
import type { AdminControl } from "../../service-control.js";
import { cut, cutNotice } from "./bounded-strings.js";
import { toBusiestRules } from "./busiest-rules.js";
import { toNotices } from "./notices.js";

const SECOND_MS = 1_000;

/** What a node is read from. */
export interface NodeSources {
  readonly core: Core;
  readonly control: AdminControl;
}

/** What a node did in the span since it was last read. */
export interface NodeSpan {
  readonly second: NodeSecond;
  /** When the span began and ended, by the wall clock. */
  readonly fromMs: number;
  readonly atMs: number;
}

interface Counted {
  readonly counts: LiveCounts;
  /** By the wall clock, and by the monotonic one. */
  readonly atMs: number;
  readonly steadyMs: number;
}

/** Reads one node, for one reader. */
export class NodeReader {
  readonly #sources: NodeSources;
  #before: Counted | undefined;
  #seconds: LiveSecond[] = [];

  constructor(sources: NodeSources) {
    this.#sources = sources;
  }

  /** The last minutes, second by second. */
  async past(): Promise<readonly LiveSecond[]> {
    const { control, core } = this.#sources;
    return (await control.liveSeconds?.()) ?? core.telemetry.liveSeconds();
  }

  /** What happened since the last reading; the first one after `forget` has nothing but the latest refusals. */
  async read(): Promise<NodeSpan> {
    if (this.#before === undefined) this.#seconds = [...(await this.past())];
    const counts = await this.#readCounts();
    const now = { counts, atMs: wallMs(), steadyMs: readMs() };
    const { atMs } = now;
    const before = this.#before;
    this.#before = now;
    const fromMs = before?.atMs ?? atMs;
    const second = await this.#toSecond(now, before);
    return { second, fromMs, atMs };
  }

  /** The latest refusals, the newest first, and when they were read. */
  async latestRefusals(): Promise<
    { readonly refusal: NodeRefusal; readonly receivedMs: number }[]
  > {
    const receivedMs = wallMs();
    const refusals = await this.#refusalsSince(undefined, receivedMs);
    return refusals.map((refusal) => ({ refusal, receivedMs }));
  }

  /** A reading as a follower reports it. @param hasPast - Whether to begin again, with the last minutes. */
  async report(hasPast: boolean): Promise<NodeLive> {
    if (hasPast) this.forget();
    const { second, atMs } = await this.read();
    const report = { ...second, rules: second.rules.slice(0, NODE_RULES_MAX) };
    if (!hasPast) return report;
    return { ...report, past: this.#seconds.map((each) => toPast(each, atMs)) };
  }

  /** The next reading is the first. */
  forget(): void {
    this.#before = undefined;
    this.#seconds = [];
  }

  async #toSecond(now: Counted, before: Counted | undefined): Promise<NodeSecond> {
    const { counts, atMs, steadyMs } = now;
    const { control, core } = this.#sources;
    const { policy, telemetry, config } = core;
    const known = before?.counts ?? counts;
    const outcomes = subtractOutcomes(counts.totals, known.totals);
    if (before !== undefined) this.#remember({ atMs: before.atMs, ...outcomes });
    const showsKeys = true;
    const top = (await control.top?.({ showsKeys })) ?? telemetry.top({ showsKeys });
    const onFailure = config.store?.onStoreFailure ?? "local";
    const { degraded } = counts;
    const { reasons } = control.isReady();
    return {
      ...outcomes,
      spanMs: before === undefined ? 0 : Math.max(1, Math.round(steadyMs - before.steadyMs)),
      version: policy.version,
      rulesInForce: policy.rules.rules.length,
      latency: counts.latency.map((count, i) => Math.max(0, count - (known.latency[i] ?? 0))),
      rules: toBusiestRules(counts, known),
      decisionsPerSecond: top.seconds === 0 ? 0 : this.#decisionsIn(top.seconds) / top.seconds,
      hottest: top.hottest
        .slice(0, NODE_KEYS_MAX)
        .map((each) => ({ ...each, rule: cut(each.rule), key: this.#bounded(each.key) })),
      refusals: await this.#refusalsSince(before?.atMs, atMs),
      store: {
        kind: config.store?.kind ?? "memory",
        isFallback: degraded.store,
        onFailure: cut(onFailure),
      },
      notices: toNotices({ degraded, reasons, policy, onFailure })
        .slice(0, NODE_NOTICES_MAX)
        .map((each) => ({ ...each, id: cut(each.id), text: cutNotice(each.text) })),
    };
  }

  async #refusalsSince(sinceMs: number | undefined, nowMs: number): Promise<NodeRefusal[]> {
    const { control, core } = this.#sources;
    const limit = sinceMs === undefined ? NODE_FIRST_REFUSALS_MAX : NODE_REFUSALS_MAX;
    const query = { outcome: "blocked", limit, showsKeys: true } as const;
    const found = (await control.latestSamples?.(query)) ?? core.telemetry.samples.latest(query);
    // One of the very millisecond of the last reading may be left out; none is read twice.
    return found
      .filter(({ atMs }) => sinceMs === undefined || atMs > sinceMs)
      .map((sample) => this.#toRefusal(sample, nowMs));
  }

  #toRefusal(sample: SampledDecision, nowMs: number): NodeRefusal {
    const { atMs, rule, key, reason, retryAfterMs, limit, endpoint, facts } = sample;
    return {
      ageMs: nowMs - atMs,
      rule: rule === null ? null : cut(rule),
      key: key === null ? null : this.#bounded(key),
      reason: reason ?? "limit",
      retryAfterMs: finiteOrNull(retryAfterMs),
      limit: finiteOrNull(limit),
      request: facts === null ? null : cut(`${facts.method} ${facts.path}`),
      endpoint: cut(endpoint ?? ""),
    };
  }

  #bounded(key: string): string {
    if (key.length <= NODE_STRING_LENGTH_MAX) return key;
    return this.#sources.core.telemetry.samples.hashKey(key);
  }

  /** Decisions in the last seconds. */
  #decisionsIn(seconds: number): number {
    const fromMs = wallMs() - seconds * SECOND_MS - SECOND_MS / 2;
    return this.#seconds.reduce(
      (sum, second) => (second.atMs >= fromMs ? sum + sizeOf(second) : sum),
      0,
    );
  }

  #remember(second: LiveSecond): void {
    this.#seconds.push(second);
    if (this.#seconds.length > HISTORY_SECONDS_MAX) this.#seconds.shift();
  }

  async #readCounts(): Promise<LiveCounts> {
    const { control, core } = this.#sources;
    return (await control.liveCounts?.()) ?? core.telemetry.liveCounts();
  }
}

function toPast({ atMs, ...counts }: LiveSecond, nowMs: number): PastSecond {
  // The last second that is over has an age of 1 on every node, wherever in a second its clock is.
  const ageSeconds = Math.max(0, Math.floor((nowMs - atMs) / SECOND_MS));
  const { allowed, delayed, blocked, shadowBlocked } = counts;
  return [ageSeconds, allowed, delayed, blocked, shadowBlocked];
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
