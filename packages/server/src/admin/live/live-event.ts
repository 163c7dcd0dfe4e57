// What the live stream sends: what happened in the last second, as rates, and what an operator has to know. Made of two
// readings of the counts, whatever the number of pages.

import {
  type LiveCounts,
  type LiveSecond,
  type OutcomeCounts,
  type RuleCounts,
  sizeOf,
  subtractOutcomes,
} from "../../telemetry/live/live-counts.js";
import { LATENCY_BUCKETS_S } from "../../telemetry/metrics/latency.js";
import type { SampledDecision } from "../../telemetry/samples/sampled-decision.js";
import type { TopReport } from "../../telemetry/top/top-report.js";

/** Rules in one event; the totals are of all. */
export const RULES_MAX = 50;
/** Keys in one event. */
export const KEYS_MAX = 12;

/** Something that works only in part, in one sentence. */
export interface LiveNotice {
  /** The same for as long as it lasts: `store`, `switch:login`. */
  readonly id: string;
  readonly isSevere: boolean;
  readonly text: string;
}

/** Percentiles of decision times, in milliseconds: upper bounds of the buckets that they are in. */
export interface LiveLatency {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** One of the busiest keys. */
export interface LiveKey {
  readonly rule: string;
  readonly key: string;
  readonly perSecond: number;
  /** Of all decisions, 0 to 1. */
  readonly share: number;
}

/** A refusal. */
export interface LiveRefusal {
  readonly atMs: number;
  readonly rule: string | null;
  readonly key: string | null;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly limit: number | null;
  /** The request, for those who may see it; else the patterns of the rule. */
  readonly request: string;
}

/** The store, as a card shows it. */
export interface LiveStore {
  readonly kind: string;
  readonly isFallback: boolean;
  /** What rules do while the store can't be reached. */
  readonly onFailure: string;
}

/** The event `tick`: the last second. */
export interface LiveTick extends OutcomeCounts {
  /** When the second began, by the wall clock, as of each {@link LiveSecond}. */
  readonly atMs: number;
  /** Of the rules in force. */
  readonly version: string;
  /** Null if no decision was measured. */
  readonly latency: LiveLatency | null;
  /** The busiest in this second first; at most {@link RULES_MAX}. */
  readonly rules: readonly RuleCounts[];
  /** How many rules are in force. */
  readonly rulesInForce: number;
  readonly hottest: readonly LiveKey[];
  /** Those of this second, the newest first. */
  readonly refusals: readonly LiveRefusal[];
  readonly store: LiveStore;
  readonly notices: readonly LiveNotice[];
}

/** The event `begin`: what came before. */
export interface LiveBegin {
  /** The last minutes; seconds without decisions are left out. */
  readonly seconds: readonly LiveSecond[];
  readonly refusals: readonly LiveRefusal[];
}

/** What was counted in between, by rule, the busiest first. */
export function toRuleTicks(now: LiveCounts, before: LiveCounts): RuleCounts[] {
  const known = new Map(before.rules.map((each) => [each.rule, each]));
  return now.rules
    .map((each) => {
      const last = known.get(each.rule);
      return last === undefined ? each : { ...each, ...subtractOutcomes(each, last) };
    })
    .sort((a, b) => busynessOf(b) - busynessOf(a))
    .slice(0, RULES_MAX);
}

/** Rules in shadow mode are ranked by what they would have refused, the only count that they have. */
function busynessOf(rule: RuleCounts): number {
  return sizeOf(rule) + rule.shadowBlocked;
}

/** The percentiles of what was measured in between; null if nothing was. */
export function toLatency(now: readonly number[], before: readonly number[]): LiveLatency | null {
  const counts = now.map((count, i) => Math.max(0, count - (before[i] ?? 0)));
  const inAll = counts.reduce((a, b) => a + b, 0);
  if (inAll === 0) return null;
  const msAt = (share: number) => {
    let seen = 0;
    const at = counts.findIndex((count) => {
      seen += count;
      return seen >= share * inAll;
    });
    return (LATENCY_BUCKETS_S[at] ?? LATENCY_BUCKETS_S[LATENCY_BUCKETS_S.length - 1]) * 1_000;
  };
  return { p50Ms: msAt(0.5), p95Ms: msAt(0.95), p99Ms: msAt(0.99) };
}

/** The busiest keys, with their share of `decisions` in the seconds of the report. */
export function toLiveKeys({ hottest, seconds }: TopReport, decisions: number): LiveKey[] {
  return hottest.slice(0, KEYS_MAX).map(({ rule, key, perSecond }) => ({
    rule,
    key,
    perSecond,
    share: decisions === 0 ? 0 : Math.min(1, (perSecond * seconds) / decisions),
  }));
}

/** A refusal as a line. */
export function toLiveRefusal(sample: SampledDecision): LiveRefusal {
  const { atMs, rule, key, reason, retryAfterMs, limit, endpoint, facts } = sample;
  const request = facts === null ? (endpoint ?? "") : `${facts.method} ${facts.path}`;
  return { atMs, rule, key, reason: reason ?? "limit", retryAfterMs, limit, request };
}
