// What `GET /v1/top` answers and `sluice top` shows: how busy each rule is, and which keys make it so.

import type { UpstreamLoad } from "../reported.js";
import type { WatchedFigure } from "../tally/anomaly-watch.js";

/** Rates of one rule, over the last five to ten seconds of this process. */
export interface RuleRate {
  readonly rule: string;
  /** What the rule counts by: `ip`, `tenant|user`. */
  readonly keyType: string;
  /** The patterns of paths that it is about; `*` if it is about all. */
  readonly endpoint: string;
  readonly allowedPerSecond: number;
  readonly blockedPerSecond: number;
  /** What a rule in shadow mode would have refused. */
  readonly shadowBlockedPerSecond: number;
  /** Since the process started. */
  readonly allowed: number;
  readonly blocked: number;
}

/** One of the keys that come most. */
export interface TopKey {
  readonly rule: string;
  /** `hmac:…`, sixteen digits that stand for the key; the key itself where that was asked for. */
  readonly key: string;
  /** Estimated over the last five to ten seconds. */
  readonly perSecond: number;
}

/** A time during which a figure was far above what is usual for it. */
export interface TopAnomaly {
  readonly figure: WatchedFigure;
  /** The rule that it is about; null for all requests. */
  readonly rule: string | null;
  /** How long ago it was noticed. */
  readonly beganAgoMs: number;
  /** How long ago it was over; null while it lasts. */
  readonly endedAgoMs: number | null;
  /** The highest value: a share from 0 to 1, or a count for ten seconds. */
  readonly value: number;
  /** What was usual before, and how far values usually were from it. */
  readonly mean: number;
  readonly distance: number;
}

/** The most anomalies in a report. */
export const TOP_ANOMALIES_MAX = 5;

/** How busy a process is. Of several processes, limits and counts are added up. */
export interface TopReport {
  /** Over how many seconds the rates were taken. */
  readonly seconds: number;
  /** The busiest first; at most 1,000. */
  readonly rules: readonly RuleRate[];
  /** The keys with most requests, the busiest first; at most `topKeysMax`. */
  readonly hottest: readonly TopKey[];
  /** The keys with most refusals. */
  readonly mostRefused: readonly TopKey[];
  /** Upstreams and routes with adaptive limits or circuit breakers; absent if there are none. */
  readonly upstreams?: readonly UpstreamLoad[] | undefined;
  /** The latest of each figure and rule, the newest first; at most five, absent if there was none. */
  readonly anomalies?: readonly TopAnomaly[] | undefined;
}

/** What a report is about. */
export interface TopOptions {
  /** Only this rule. Default: all of them. */
  readonly rule?: string | undefined;
  /** Whether keys are shown as they are counted instead of hashed. Default false. */
  readonly showsKeys?: boolean;
}
