// A decision that was kept, with what is needed to understand it and to decide it again. Plain data: it is sent between
// processes and shown as JSON.

import type { RefusalReason } from "sluice/rules";
import type { ListenerName } from "../reported.js";
import type { WholeKeys } from "../tally/key-sampling.js";

/**
 * The facts of a sampled request, as far as rules in force read them: of headers, cookies, fields of the body and
 * attributes only those that a rule names. Values that are secrets, or longer than 256 characters, are hashed; numbers
 * that only costs read are not secrets. Values that are not scalars or short lists of them are left out. Others are as `Facts` of `sluice/rules` has them.
 */
export interface SampledFacts {
  readonly method: string;
  readonly path: string;
  readonly host?: string;
  readonly ip?: string;
  readonly user?: string;
  readonly apiKey?: string;
  readonly tenant?: string;
  readonly tier?: string;
  readonly plan?: string;
  /** The scopes of the API key, if a rule in force asks for a scope. */
  readonly scopes?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** What one limit of one rule said. */
export interface SampledCharge {
  readonly rule: string;
  /** As it is counted, `user:42`; hashed where the reader may not see it. */
  readonly key: string;
  readonly cost: number;
  /** Whether the rule counts and never refuses. */
  readonly shadow: boolean;
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
}

/** How a decision ended. */
export type SampledOutcome = "allowed" | "delayed" | "blocked";

/** A decision that was kept. */
export interface SampledDecision {
  /** By the wall clock. */
  readonly atMs: number;
  readonly listener: ListenerName;
  readonly outcome: SampledOutcome;
  /** Whether a rule in shadow mode would have refused it. */
  readonly shadowBlocked: boolean;
  /** Null if it was not refused. */
  readonly reason: RefusalReason | null;
  /** The rule that bound; null if none did. */
  readonly rule: string | null;
  /** Under the rule that bound; null if none did. */
  readonly key: string | null;
  /** The patterns of paths of the rule that bound. */
  readonly endpoint: string | null;
  readonly cost: number;
  /** The units of the limit that bound; infinite if none did. */
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly delayMs: number;
  /** The version of the rules; null where no rules decided. */
  readonly version: string | null;
  /** One for each limit of each rule that matched. */
  readonly charges: readonly SampledCharge[];
  /** Null for limits that are not rules, and for readers who may not see who asked. */
  readonly facts: SampledFacts | null;
}

/** How many samples are shown, unless the reader asks for another number. */
export const LATEST_SAMPLES = 100;

/** Which samples are asked for. */
export interface SamplesQuery {
  /** Only decisions that this rule was part of. */
  readonly rule?: string | undefined;
  /** Only decisions with this key, in clear or hashed. */
  readonly key?: string | undefined;
  readonly outcome?: SampledOutcome | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** Whether keys and facts are shown as they are; false hashes keys and leaves facts out. Default false. */
  readonly showsKeys?: boolean | undefined;
}

/** All decisions about sampled keys since some time: what a preview decides again. */
export interface SampleReport {
  /** From when the sample is whole, by the wall clock. */
  readonly fromMs: number;
  /** Which keys have every one of their decisions among the samples; `isWhole` of the samples asks it. */
  readonly whole: WholeKeys;
  /** The oldest first, in clear. */
  readonly samples: readonly SampledDecision[];
}

/** The samples of a process, or of all processes of a service. */
export interface Samples {
  /** The newest first: refusals, of which some are kept whatever the key, and decisions about sampled keys. */
  latest(query?: SamplesQuery): readonly SampledDecision[];
  /**
   * All decisions about sampled keys since a time.
   *
   * @param sinceMs - By the wall clock. At most five minutes ago.
   */
  since(sinceMs: number): SampleReport;
  /** Whether every decision about a key is in a report. */
  isWhole(key: string, report: Pick<SampleReport, "whole">): boolean;
  /** What hashes of keys begin with, by which it is decided which keys are sampled. */
  readonly seed: number;
  /** A key as readers see it who may not see keys. */
  hashKey(key: string): string;
}
