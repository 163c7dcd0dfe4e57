// Checks rules, identity and responses together, as the listeners will use them. It finds rules that a listener
// can't enforce, invalid address ranges and key files without keys.

import { memoryStore, SluiceError } from "sluice";
import { createRequestHandler, type IdentityOptions } from "sluice/http";
import { createPolicy, type Policy, type Rule, type RuleProblem, type RuleSet } from "sluice/rules";
import type { FileValues } from "../description/file.js";
import type { ConfigProblem } from "../problems.js";
import type { ConfigSections } from "../read-sections.js";
import { regionsOver } from "../regions-over.js";
import { type ResolvePath, toResponses } from "../to-config.js";
import { toIdentityOptions } from "../to-identity.js";
import { readNamed } from "./files.js";
import { addRuleProblems } from "./rules.js";

/** Checks rules with the listeners that are to open. */
export function checkPolicies(sections: ConfigSections, rules: RuleSet): void {
  // The decision API sees no responses, so it can't keep every rule.
  const { decision, ledger, control, regions } = sections.values;
  checkNeeds(sections, rules);
  // What is wrong with regions has been reported.
  if (!sections.isGood("regions")) return;
  const seesResponses = decision === undefined;
  const hasLedger = (ledger?.database ?? control?.database) !== undefined;
  try {
    closeSoon(makePolicy({ rules, seesResponses, hasLedger, regions }));
  } catch (error) {
    addRuleProblems(sections, error, (problem) => placeOf(sections, problem));
  }
}

/** Reports rules that only the gateway's configuration could serve, and does not. */
function checkNeeds(sections: ConfigSections, { rules }: RuleSet): void {
  const { challenge, gateway, identity } = sections.values;
  for (const rule of rules) {
    const problem = whyUnserved(rule, {
      hasGateway: gateway !== undefined,
      hasChallenge: challenge !== undefined || !sections.isGood("challenge"),
      hasNetworks: (identity?.mmdb ?? []).length > 0 || !sections.isGood("identity"),
      hasFingerprint: identity?.fingerprintHeader !== undefined || !sections.isGood("identity"),
    });
    if (problem === undefined) continue;
    const where = rule.place === undefined ? "" : ` (${rule.place})`;
    const message = `rules: rule ${JSON.stringify(rule.id)}: ${problem}${where}`;
    sections.problems.addMessage(["rules"], message, placeOf(sections, { message, rule: rule.id }));
  }
}

/** Callers of the decision API may say where a client is; at the gateway only the configuration can. */
function whyUnserved(
  { key, match, onExceed }: Rule,
  has: Readonly<Record<"hasGateway" | "hasChallenge" | "hasNetworks" | "hasFingerprint", boolean>>,
): string | undefined {
  if (!has.hasGateway) return undefined;
  if (onExceed === "challenge" && !has.hasChallenge) {
    return "onExceed is challenge, which needs the section challenge with its secrets";
  }
  const asked = new Set([...key.map(({ kind }) => kind), ...(match.client?.values.keys() ?? [])]);
  for (const name of ["asn", "country"] as const) {
    if (asked.has(name) && !has.hasNetworks) {
      return `${name} is never known: name an MMDB file in identity.mmdb`;
    }
  }
  if (asked.has("fingerprint") && !has.hasFingerprint) {
    return "fingerprint is never known: set identity.fingerprintHeader";
  }
  return undefined;
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

/** The identity options of the listeners; undefined, with problems added, if they are invalid. */
export function readIdentity(
  sections: ConfigSections,
  at: ResolvePath,
): IdentityOptions | undefined {
  const { values } = sections;
  if (!sections.isGood("identity", "responses")) return undefined;
  const { identity, responses } = values as FileValues;
  if (!checkKeyFiles(sections, identity, at)) return undefined;
  let policy: Policy | undefined;
  try {
    const options = toIdentityOptions(identity, at);
    policy = makePolicy({
      rules: { version: 1, rules: [] },
      seesResponses: true,
      hasLedger: false,
    });
    createRequestHandler(policy, { identity: options, ...toResponses(responses) });
    return options;
  } catch (error) {
    addIdentityProblem(sections, error);
    return undefined;
  } finally {
    if (policy !== undefined) closeSoon(policy);
  }
}

/** Whether the files with keys of tokens can be read; problems are added if not. */
function checkKeyFiles(
  { problems }: ConfigSections,
  { jwt }: FileValues["identity"],
  at: ResolvePath,
): boolean {
  const isReadable = (["keyFile", "jwksFile"] as const).map((field) => {
    const file = jwt?.[field];
    return (
      file === undefined ||
      readNamed(["identity", "jwt", field], at(file), problems, WRONG_PATH) !== undefined
    );
  });
  return isReadable.every(Boolean);
}

const WRONG_PATH = "correct the path, which is relative to the folder of the configuration";

/** The library names the option; errors of files are about the keys. */
function addIdentityProblem({ problems, conceal }: ConfigSections, error: unknown): void {
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

function makePolicy({
  hasLedger,
  regions,
  ...options
}: {
  rules: object;
  seesResponses: boolean;
  hasLedger: boolean;
  regions?: FileValues["regions"];
}): Policy {
  const store = memoryStore(TINY);
  return createPolicy({
    ...options,
    ...(regions === undefined ? { store } : { regions: regionsOver(store, regions) }),
    ...(hasLedger ? { durableStore: store } : {}),
  });
}

/** It decided nothing and leased nothing, so there is no need to wait for its end. */
function closeSoon(policy: Policy): void {
  policy.close().catch(() => {});
}
