// Rules, identity and responses together, tried as the listeners will take them: a rule that a listener can't keep,
// a range of addresses that is none, a file of keys that holds none.

import { memoryStore, SluiceError } from "sluice";
import { createRequestHandler, type IdentityOptions } from "sluice/http";
import { createPolicy, type Policy, type RuleProblem, type RuleSet } from "sluice/rules";
import type { FileValues } from "../description/file.js";
import type { ConfigProblem } from "../problems.js";
import type { ConfigSections } from "../read-sections.js";
import { type ResolvePath, toResponses } from "../to-config.js";
import { toIdentityOptions } from "../to-identity.js";
import { addRuleProblems } from "./rules.js";

/** Checks rules with the listeners that are to open. */
export function checkPolicies(sections: ConfigSections, rules: RuleSet): void {
  // The decision API sees no responses, so it can't keep every rule.
  const seesResponses = sections.values.decision === undefined;
  try {
    closeSoon(makePolicy({ rules, seesResponses }));
  } catch (error) {
    addRuleProblems(sections, error, (problem) => placeOf(sections, problem));
  }
}

/** Rules that were parsed from a file say in their message where; others are looked for by their id. */
function placeOf(
  { raw, problems }: ConfigSections,
  { rule }: RuleProblem,
): Pick<ConfigProblem, "place" | "line"> | undefined {
  const { rules } = (raw.rules ?? {}) as { rules?: readonly { id?: unknown }[] };
  const index = rules?.findIndex(({ id }) => id === rule) ?? -1;
  return index < 0 ? undefined : problems.placeOf(["rules", "rules", index]);
}

/** Identity as listeners take it; undefined, with problems told, if they would not. */
export function readIdentity(
  sections: ConfigSections,
  at: ResolvePath,
): IdentityOptions | undefined {
  const { values } = sections;
  if (!sections.isGood("identity", "responses")) return undefined;
  const { identity, responses } = values as FileValues;
  let policy: Policy | undefined;
  try {
    const options = toIdentityOptions(identity, at);
    policy = makePolicy({ rules: { version: 1, rules: [] }, seesResponses: true });
    createRequestHandler(policy, { identity: options, ...toResponses(responses) });
    return options;
  } catch (error) {
    tellIdentity(sections, error);
    return undefined;
  } finally {
    if (policy !== undefined) closeSoon(policy);
  }
}

/** The library says which option it was; files say that they are keys. */
function tellIdentity({ problems, conceal }: ConfigSections, error: unknown): void {
  const isOfLibrary = error instanceof SluiceError;
  const { message, code } = error as NodeJS.ErrnoException;
  if (!isOfLibrary && code === undefined) throw error;
  const [, field] = /identity: (\w+)/.exec(message) ?? [];
  const path = isOfLibrary && field !== undefined ? ["identity", field] : ["identity", "jwt"];
  const text = message.replace(/^invalid option: (jwtVerifier: |identity: (\w+:? )?)?/, "");
  problems.add(path, `can't be used: ${conceal(text, "identity")}`);
}

/** As small as a store can be: nothing is counted in it. */
const TINY = { keysMax: 1, blocksMax: 1, receiptsMax: 1, requestsMax: 1 };

function makePolicy(options: { rules: object; seesResponses: boolean }): Policy {
  return createPolicy({ ...options, store: memoryStore(TINY) });
}

/** It decided nothing and leased nothing, so that nobody has to wait for its end. */
function closeSoon(policy: Policy): void {
  policy.close().catch(() => {});
}
