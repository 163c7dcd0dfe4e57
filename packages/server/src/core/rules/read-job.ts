// What the thread for long rules is asked and answers: to read them, or to decide samples by them.

import { memoryStore } from "sluice";
import { createPolicy, type RuleProblem, type RuleSet } from "sluice/rules";
import type { Replayings, ReplayJob } from "../preview/replay-both.js";

/** What the policies of a service can do, by which it can use rules or not. */
export interface RulesUse {
  /** Whether they see responses, which some rules need. */
  readonly seesResponses: boolean;
  /** Whether there is a ledger, which durable rules need. */
  readonly hasLedger: boolean;
}

/** Rules to be read. */
export interface ReadJob {
  readonly text: string;
  /** Where they come from, for errors. */
  readonly file: string | undefined;
  /** What they are checked for beyond being readable. Undefined: nothing. */
  readonly use: RulesUse | undefined;
  /** Whether the rules are needed, or only their version. */
  readonly returnsRules: boolean;
}

/** Why rules can't be used. */
export interface FailedJob {
  /** Undefined if it is not about the rules themselves. */
  readonly problems: readonly RuleProblem[] | undefined;
  readonly message: string;
}

/** What the thread is asked. */
export type ThreadJob = ReadJob | ReplayJob;

/** What comes of a job. */
export type ReadAnswer =
  | { readonly version: string; readonly rules: RuleSet | undefined }
  | { readonly replayed: Replayings }
  | { readonly failed: FailedJob };

/** As small as a store can be: nothing is counted in it. */
const TINY = { keysMax: 1, blocksMax: 1, receiptsMax: 1, requestsMax: 1 };

/** Throws what keeps policies from using rules that were read. */
export function mustBeUsable(rules: RuleSet, { seesResponses, hasLedger }: RulesUse): void {
  const store = memoryStore(TINY);
  const durable = hasLedger ? { durableStore: store } : {};
  const policy = createPolicy({ rules, store, seesResponses, ...durable });
  // It decided nothing and leased nothing, so there is no need to wait for its end.
  policy.close().catch(() => {});
}
