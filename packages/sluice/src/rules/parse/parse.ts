// Rules, read once: from YAML or JSON text, or from an object in code. Everything that is wrong is told
// together; what comes out has every default filled in and needs no further checks.

import { show } from "../../base/errors.js";
import { asOptions, refuse } from "../../base/option-checks.js";
import { isRecord, Spot, TooManyValues } from "../../base/shapes/shapes.js";
import type { Rule, RuleSet } from "../rule.js";
import { readDocument } from "./document.js";
import { fileFields } from "./file-fields.js";
import { toAnyKey } from "./keys.js";
import { Problems, type RulesDocument } from "./problems.js";
import { RuleReading, VALUES_MAX } from "./rule-reading.js";
import { toExempt } from "./to-rule.js";
import { toVersion } from "./version.js";

export { type RuleProblem, RulesError } from "./problems.js";

const SITE = { name: "parseRules", code: "SLUICE_OPTION_INVALID" } as const;

/** Where the text comes from. */
export interface ParseOptions {
  /** The name of the file, for errors: `sluice.yaml:14`. Default: errors say `line 14`. */
  file?: string;
}

/**
 * Parses rules: a text of YAML or JSON, or the same as an object in code, where a limit may also be one
 * that a constructor made.
 *
 * @throws RulesError (`SLUICE_RULES_INVALID`) that tells every problem with its rule, its line and what
 * was seen.
 */
export function parseRules(source: string | object, options: ParseOptions = {}): RuleSet {
  const { file } = asOptions(SITE, options, ["file"]);
  if (file !== undefined && typeof file !== "string") {
    refuse(SITE, `file must be a string, got ${show(file)}`);
  }
  if (typeof source !== "string") {
    return readRuleSet({ value: source, file, locate: () => undefined });
  }
  const known = latest?.text === source && latest.file === file ? latest.rules.deref() : undefined;
  if (known !== undefined) return known;
  const rules = readRuleSet(readDocument(source, file));
  latest = { text: source, file, rules: new WeakRef(rules) };
  return rules;
}

/**
 * The text that was parsed last. A service reads one file several times when it starts or reloads (to check it, to
 * put it in force and to watch it), and parsing leaves a hundred times its size as garbage.
 */
let latest:
  | { readonly text: string; readonly file: string | undefined; readonly rules: WeakRef<RuleSet> }
  | undefined;

function readRuleSet(document: RulesDocument): RuleSet {
  const problems = new Problems(document);
  try {
    const ipv6Prefix = peekIpv6Prefix(document);
    const reading = new RuleReading(problems, ipv6Prefix);
    const ruleSet = toRuleSet(document.value, new Spot(reading));
    problems.throwIfAny();
    if (ruleSet !== undefined) return ruleSet;
  } catch (error) {
    if (!(error instanceof TooManyValues)) throw error;
    problems.add([], `the rules hold more than ${VALUES_MAX} values`);
    problems.throwIfAny();
  }
  throw new Error("rules that can't be read have a problem that was told");
}

function toRuleSet(value: unknown, spot: Spot): RuleSet | undefined {
  const given = fileFields.read(value, spot);
  if (given === undefined) return undefined;
  const rules = {
    isEnabled: given.enabled,
    ipv6Prefix: given.ipv6Prefix,
    exempt: toExempt(given.exempt, toAnyKey, spot.in("exempt")),
    rules: given.rules,
  };
  checkIds(given.rules, spot.in("rules"));
  return { version: toVersion(rules), ...rules };
}

/**
 * How many bits of an IPv6 address are one client: rules need it while they are read, wherever in the
 * file it stands. A bad one is told when its turn comes.
 */
function peekIpv6Prefix(document: RulesDocument): number {
  const { shape, byDefault } = fileFields.fields.ipv6Prefix;
  const aside = new Spot(new RuleReading(new Problems(document), 0));
  const given = isRecord(document.value) ? document.value.ipv6Prefix : undefined;
  return (given === undefined ? undefined : shape.read(given, aside)) ?? (byDefault as number);
}

function checkIds(rules: readonly Rule[], spot: Spot): void {
  const places = new Map<string, string | undefined>();
  for (const [i, { id, place }] of rules.entries()) {
    if (places.has(id)) {
      const first = places.get(id);
      spot.in(i).say(`has the id of an earlier rule${first === undefined ? "" : ` (${first})`}`);
    }
    places.set(id, place);
  }
}
