// Rules as a plain value, read once: what `parseRules` does after the text is YAML no longer, and all that limits in
// code need. Nothing here imports the YAML parser, so an application without rule files never loads it.

import { isRecord, Spot, TooManyValues } from "../../base/shapes/shapes.js";
import type { Rule, RuleSet } from "../rule.js";
import { fileFields } from "./file-fields.js";
import { RuleProblems, type RulesDocument } from "./problems.js";
import { toAnyKey } from "./rule-fields/keys.js";
import { RuleReading, ruleReadingOf, VALUES_MAX } from "./rule-reading.js";
import { toExempt } from "./to-rule.js";
import { toVersion } from "./version.js";

/** Reads rules from an object in code. Throws a `RulesError` that reports every problem. */
export function readRulesObject(value: object, file?: string): RuleSet {
  return readRuleSet({ value, file, locate: () => undefined });
}

/** Reads the rules of a document. Throws a `RulesError` that reports every problem. */
export function readRuleSet(document: RulesDocument): RuleSet {
  const problems = new RuleProblems(document);
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
  throw new Error("rules that can't be read have a problem that was reported");
}

function toRuleSet(value: unknown, spot: Spot): RuleSet | undefined {
  const given = fileFields.read(value, spot);
  if (given === undefined) {
    checkWrittenIds(value, spot.in("rules"));
    return undefined;
  }
  const all = given.rules.flat();
  const rules = {
    isEnabled: given.enabled,
    ipv6Prefix: given.ipv6Prefix,
    exempt: toExempt(given.exempt, toAnyKey, spot.in("exempt")),
    rules: all,
  };
  checkIds(given.rules, spot.in("rules"));
  return { version: toVersion(rules), ...rules };
}

/**
 * How many bits of an IPv6 address are one client: rules need it while they are read, wherever in the
 * file it stands. A bad one is reported when its turn comes.
 */
function peekIpv6Prefix(document: RulesDocument): number {
  const { shape, byDefault } = fileFields.fields.ipv6Prefix;
  const aside = new Spot(new RuleReading(new RuleProblems(document), 0));
  const given = isRecord(document.value) ? document.value.ipv6Prefix : undefined;
  return (given === undefined ? undefined : shape.read(given, aside)) ?? (byDefault as number);
}

function checkIds(written: readonly (readonly Pick<Rule, "id" | "place">[])[], spot: Spot): void {
  const places = new Map<string, string | undefined>();
  for (const [i, rules] of written.entries()) {
    for (const { id, place } of rules) {
      if (places.has(id)) {
        const first = places.get(id);
        const what = rules.length === 1 ? "has the id" : `stands for ${id}, which is the id`;
        spot.in(i).say(`${what} of an earlier rule${first === undefined ? "" : ` (${first})`}`);
      }
      places.set(id, place);
    }
  }
}

/** Rules of which some can't be read: an id that occurs twice is reported together with what else is wrong. */
function checkWrittenIds(value: unknown, spot: Spot): void {
  const list: unknown = isRecord(value) ? value.rules : undefined;
  if (!Array.isArray(list)) return;
  const reading = ruleReadingOf(spot);
  const written = list.map((rule: unknown, i) => {
    const id = isRecord(rule) ? rule.id : undefined;
    return typeof id === "string" ? [{ id, place: reading.placeOf(spot.in(i).path) }] : [];
  });
  checkIds(written, spot);
}
