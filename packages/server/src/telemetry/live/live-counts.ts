// Numbers for live views: counts since the start of the process, of which a reader takes differences, so that each
// second shows what happened in it and no peak is averaged away. Plain data, so that processes can send it.

import type { Counts, FallbackTime } from "../metrics/counts.js";
import type { Latency } from "../metrics/latency.js";
import type { ControlFigures, StoreName } from "../reported.js";
import type { DecisionTally } from "../tally/decision-tally.js";
import { totalsOf } from "../tally/decision-tally.js";
import type { OutcomeCounts } from "../tally/outcome-counts.js";
import type { RuleMeter } from "../tally/rule-meters.js";

/** The counts of a rule. One in shadow mode has no other count than `shadowBlocked`. */
export interface RuleCounts extends OutcomeCounts {
  readonly rule: string;
  /** What it counts by. */
  readonly keyType: string;
  /** The patterns of paths that it is about. */
  readonly endpoint: string;
}

/** What works only in part. */
export interface Degraded {
  /** Whether the circuit breaker of the store is open. */
  readonly store: boolean;
  /** Whether that of the ledger is. */
  readonly ledger: boolean;
  /** What could not be reloaded: `rules`, `config`. */
  readonly reloads: readonly string[];
  /** How old the state of the control plane is; null without one. */
  readonly controlAgeMs: number | null;
}

/** Counts since the start. */
export interface LiveCounts {
  readonly totals: OutcomeCounts;
  readonly rules: readonly RuleCounts[];
  /** Counts of decision times, by the buckets of `LATENCY_BUCKETS_S` and one beyond. */
  readonly latency: readonly number[];
  readonly degraded: Degraded;
}

/** What counts are made of. */
export interface LiveSources {
  readonly tally: DecisionTally;
  readonly meters: Iterable<RuleMeter>;
  readonly latencies: Iterable<Latency>;
  readonly fallbacks: Readonly<Record<StoreName, FallbackTime>>;
  readonly reloadFailed: Counts;
  /** Undefined without a control plane. */
  readonly control: ControlFigures | undefined;
}

/** The counts of this process. */
export function toLiveCounts(sources: LiveSources): LiveCounts {
  const { tally, meters, latencies, fallbacks, reloadFailed, control } = sources;
  const failed = [...reloadFailed.samples()].filter(({ value }) => value > 0);
  return {
    totals: totalsOf(tally),
    rules: ruleCountsOf(meters),
    latency: latencyCountsOf(latencies),
    degraded: {
      store: fallbacks.store.isActive,
      ledger: fallbacks.ledger.isActive,
      reloads: failed.map(({ labels }) => String(labels.what)),
      controlAgeMs: control?.ageMs ?? null,
    },
  };
}

/** The counts of rules that have any. */
function ruleCountsOf(meters: Iterable<RuleMeter>): RuleCounts[] {
  const counts: RuleCounts[] = [];
  for (const { rule, keyType, endpoint, allowed, delayed, blocked, shadowBlocked } of meters) {
    let refused = 0;
    for (const reason in blocked) refused += blocked[reason as keyof typeof blocked];
    counts.push({ rule, keyType, endpoint, allowed, delayed, blocked: refused, shadowBlocked });
  }
  return counts;
}

/** The decision times of all listeners together. */
function latencyCountsOf(latencies: Iterable<Latency>): number[] {
  const sums: number[] = [];
  for (const { counts } of latencies) {
    for (let i = 0; i < counts.length; i++) sums[i] = (sums[i] ?? 0) + counts[i];
  }
  return sums;
}
