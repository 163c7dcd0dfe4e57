// What a replay of access logs needs: the logs, the rules, and how to read and report.

import type { RuleSet } from "sluice/rules";
import type { LogEntry } from "../../access-logs/log-entry.js";
import type { LogsToRead } from "../../access-logs/reading/read-logs.js";

/** Rules, and where they come from. */
export interface NamedRules {
  readonly file: string;
  readonly rules: RuleSet;
}

/** What is replayed. */
export interface LogReplayInput extends LogsToRead {
  readonly rules: NamedRules;
  /** Default: there is nothing to compare with. */
  readonly against?: NamedRules | undefined;
  /** Keys in use at the same time under limits of similar length; default 1,000,000, as in a service. */
  readonly keysMax?: number | undefined;
  /** Chooses which callers are counted if there are too many to count all. Default: random, so that no client can. */
  readonly sampleSalt?: number | undefined;
  /** Hashes the keys of the report. Default: they are as they are counted. */
  readonly hashKey?: ((key: string) => string) | undefined;
  /** Called with each request and what the new rules decide about it. The entry is filled in again when it returns. */
  onDecided?(entry: LogEntry, isAllowed: boolean): void;
}
