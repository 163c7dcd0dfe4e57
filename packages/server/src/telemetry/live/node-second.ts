// What one node did between two readings of its counts. A follower reports it to its control node while a page is open
// there, so it is plain data, every part of it has a bound, and it merges with that of other nodes: latencies are
// counts of buckets, never percentiles. Keys are in clear; the control node hashes them for readers who may not see them.

import type { OutcomeCounts } from "../tally/outcome-counts.js";
import type { TopKey } from "../top/top-report.js";
import type { RuleCounts } from "./live-counts.js";

/** Rules in one report, the busiest ones. */
export const NODE_RULES_MAX = 100;
/** Keys in one report. More than are shown, so that a key that is busy in the whole fleet is in most reports. */
export const NODE_KEYS_MAX = 24;
/** Refusals in one report, and in the first one. */
export const NODE_REFUSALS_MAX = 10;
export const NODE_FIRST_REFUSALS_MAX = 20;
/** Sentences in one report. */
export const NODE_NOTICES_MAX = 20;
/** Characters of a name, a key or a request; longer keys are reported as hashes. */
export const NODE_STRING_LENGTH_MAX = 256;
/** Characters of a sentence. */
export const NODE_NOTICE_LENGTH_MAX = 1_000;

/** Something that works only in part, in one sentence. */
export interface NodeNotice {
  /** The same for as long as it lasts: `store`, `switch:login`. */
  readonly id: string;
  readonly isSevere: boolean;
  readonly text: string;
}

/** A refusal. */
export interface NodeRefusal {
  /** How long before the reading; the clocks of nodes differ. */
  readonly ageMs: number;
  readonly rule: string | null;
  readonly key: string | null;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly limit: number | null;
  /** Method and path, for those who may see them; null where no rule decided. */
  readonly request: string | null;
  /** The patterns of paths of the rule, for others. */
  readonly endpoint: string;
}

/** The store, as a card shows it. */
export interface NodeStore {
  readonly kind: string;
  readonly isFallback: boolean;
  /** What rules do while the store can't be reached. */
  readonly onFailure: string;
}

/** What a node did between two readings. */
export interface NodeSecond extends OutcomeCounts {
  /** Between the readings. 0: this is the first, and there is nothing to compare it with. */
  readonly spanMs: number;
  /** The version of the rules in force. */
  readonly version: string;
  readonly rulesInForce: number;
  /** Counts of decision times, by the buckets of `LATENCY_BUCKETS_S` and one beyond. */
  readonly latency: readonly number[];
  /** The busiest first; in a report at most {@link NODE_RULES_MAX}. */
  readonly rules: readonly RuleCounts[];
  /** In the seconds that {@link NodeSecond.hottest} covers. */
  readonly decisionsPerSecond: number;
  /** At most {@link NODE_KEYS_MAX}. */
  readonly hottest: readonly TopKey[];
  /** Since the reading before, the newest first. */
  readonly refusals: readonly NodeRefusal[];
  readonly store: NodeStore;
  readonly notices: readonly NodeNotice[];
}

/** One second of the past: how many seconds ago it began, then what was allowed, delayed, blocked and shadow-blocked. */
export type PastSecond = readonly [
  ageSeconds: number,
  allowed: number,
  delayed: number,
  blocked: number,
  shadowBlocked: number,
];

/** What a follower reports when it is asked. */
export interface NodeLive extends NodeSecond {
  /** The last minutes, where they were asked for; seconds without decisions are left out. */
  readonly past?: readonly PastSecond[] | undefined;
}
