// The jobs of the thread for long rules, and their results: to read rules, or to decide samples under them.

import { memoryStore } from "sluice";
import { createPolicy, type Rule, type RuleProblem, type RuleSet } from "sluice/rules";
import type { RegionsConfig } from "../../config/config.js";
import { regionsOver } from "../../config/regions-over.js";
import type { Replayings, ReplayJob } from "../replay/replay-both.js";

/** What the policies of a service can do, by which it can use rules or not. */
export interface RulesUse {
  /** Whether they see responses, which some rules need. */
  readonly seesResponses: boolean;
  /** Whether there is a ledger, which durable rules need. */
  readonly hasLedger: boolean;
  /** The regions that share limits. Absent if there is one. */
  readonly regions?: RegionsConfig | undefined;
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
  /** Whether they are to come into force, or are only looked at: those that are don't wait for the others. */
  readonly purpose: "enforce" | "inspect";
}

/** Why rules can't be used. */
export interface FailedJob {
  /** Undefined if it is not about the rules themselves. */
  readonly problems: readonly RuleProblem[] | undefined;
  readonly message: string;
}

/** What the thread is asked. */
export type ThreadJob = ReadJob | ReplayJob;

/** The rules that were read last, from one on. To take over all of them in one message would hold up decisions. */
export interface NextRules {
  readonly from: number;
}

/** This many rules are taken over in one message: about two milliseconds. */
export const RULES_A_MESSAGE = 400;

/** What was read. */
export interface ReadRules {
  readonly version: string;
  /** Everything but the rules; undefined if only the version was asked for. */
  readonly set: Omit<RuleSet, "rules"> | undefined;
  /** The rules follow in this many messages, as they are asked for. */
  readonly messages: number;
  /** The ids of the rules that say their `consistency`, which parsed rules don't show. */
  readonly withConsistency: readonly string[];
}

/** What comes of a job. */
export type ReadAnswer =
  | ReadRules
  | { readonly next: readonly Rule[] }
  | { readonly replayed: Replayings }
  | { readonly failed: FailedJob };

/** As small as a store can be: nothing is counted in it. */
const TINY = { keysMax: 1, blocksMax: 1, receiptsMax: 1, requestsMax: 1 };

/** Throws what keeps policies from using rules that were read. */
export function mustBeUsable(
  rules: RuleSet,
  { seesResponses, hasLedger, regions }: RulesUse,
): void {
  const store = memoryStore(TINY);
  const durable = hasLedger ? { durableStore: store } : {};
  const stores = regions === undefined ? { store } : { regions: regionsOver(store, regions) };
  const policy = createPolicy({ rules, seesResponses, ...stores, ...durable });
  // It decided nothing and leased nothing, so there is no need to wait for its end.
  policy.close().catch(() => {});
}
