// What is reported to a store of callers that keep being refused, and what it answers: see `Store.escalate`.

import type { EscalationTerms, RefusalCount } from "../algorithms/escalation.js";

/** Refusals of one key since the last report. */
export interface RefusalReport extends RefusalCount {
  /** Where the level of the key is kept: the limiter or rule. */
  readonly scope: string;
  readonly key: string;
  /** The scopes in which the key is blocked if its level is raised. */
  readonly blockScopes: readonly string[];
  readonly terms: EscalationTerms;
  /** The time by which blocks run. A store with a clock of its own ignores it. */
  readonly nowMs: number;
}

/** What became of a key that was reported. */
export interface Escalated {
  /** The level of the key now; 0 if it has none. */
  readonly level: number;
  /** For how long the key is blocked from now on; 0 if its level was not raised by this report. */
  readonly blockMs: number;
  /** How many more refusals raise the level, if they come in time. */
  readonly refusalsLeft: number;
}
