// What `GET /v1/top` answers and `sluice top` shows: how busy each rule is, and which keys make it so.

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

/** How busy a process is. */
export interface TopReport {
  /** Over how many seconds the rates were taken. */
  readonly seconds: number;
  /** The busiest first; at most 1,000. */
  readonly rules: readonly RuleRate[];
  /** The keys with most requests, the busiest first; at most `topKeysMax`. */
  readonly hottest: readonly TopKey[];
  /** The keys with most refusals. */
  readonly mostRefused: readonly TopKey[];
}

/** What a report is about. */
export interface TopOptions {
  /** Only this rule. Default: all of them. */
  readonly rule?: string | undefined;
  /** Whether keys are shown as they are counted instead of hashed. Default false. */
  readonly showsKeys?: boolean;
}
