// Parses rules from a string of YAML or JSON, or from an object in code. Reports everything that is wrong together;
// what comes out has every default filled in and needs no further checks.

import { show } from "../../base/errors.js";
import { plainString, readOptions } from "../../base/shapes/code-options.js";
import { object, optional } from "../../base/shapes/shapes.js";
import type { RuleSet } from "../rule.js";
import { readJson } from "./json.js";
import { RuleProblems, type RulesDocument, RulesError } from "./problems.js";
import { readRuleSet, readRulesObject } from "./rule-set.js";
import { readYaml } from "./yaml.js";

export { type RuleProblem, RulesError } from "./problems.js";

const SITE = { name: "parseRules", code: "SLUICE_OPTION_INVALID" } as const;

/** Where the string comes from. */
export interface ParseOptions {
  /** The name of the file, for errors: `sluice.yaml:14`. Default: errors say `line 14`. */
  file?: string;
}

const OPTIONS = object({
  file: optional(plainString),
} satisfies Record<keyof ParseOptions, unknown>);

/**
 * Parses rules: a string of YAML or JSON, or the same as an object in code, where a limit may also be one
 * that a constructor made.
 *
 * @throws RulesError (`SLUICE_RULES_INVALID`) that reports every problem with its rule, its line and what
 * was seen.
 */
export function parseRules(source: string | object, options: ParseOptions = {}): RuleSet {
  const { file } = readOptions(SITE, OPTIONS, options);
  if (typeof source !== "string") {
    return readRulesObject(source, file);
  }
  const known = latest?.text === source && latest.file === file ? latest.rules.deref() : undefined;
  if (known !== undefined) return known;
  const rules = readJsonRules(source, file) ?? readRuleSet(readDocument(source, file));
  latest = { text: source, file, rules: new WeakRef(rules) };
  return rules;
}

/**
 * The string that was parsed last. A service reads one file several times when it starts or reloads (to check it, to
 * put it in force and to watch it), and parsing leaves a hundred times its size as garbage.
 */
let latest:
  | { readonly text: string; readonly file: string | undefined; readonly rules: WeakRef<RuleSet> }
  | undefined;

/** The rules of a string that is JSON and without problems; undefined for all others, which YAML has the positions of. */
function readJsonRules(text: string, file: string | undefined): RuleSet | undefined {
  const json = readJson(text);
  if (json === undefined) return undefined;
  try {
    return readRuleSet({ value: json.value, file, locate: json.lineOf });
  } catch (error) {
    if (error instanceof RulesError) return undefined;
    throw error;
  }
}

/** The path of a file is a string of YAML, too. */
function refusePath(value: unknown, file: string | undefined): void {
  if (typeof value !== "string" || !/^\S+\.(?:ya?ml|json)$/.test(value)) return;
  const found = new RuleProblems({ value, file, locate: () => undefined });
  found.add(
    [],
    `must be the text of a rule file, got its path ${show(value)}: read the file, or use watchRules`,
  );
  found.throwIfAny();
}

/** Reads YAML into a document of rules. Throws all problems of its YAML together. */
function readDocument(text: string, file: string | undefined): RulesDocument {
  const { problems, value, positionOf } = readYaml(text);
  let next = 0;
  const found = new RuleProblems({
    value: undefined,
    file,
    locate: () => problems[next++].position,
  });
  for (const { message } of problems) found.add([], message);
  found.throwIfAny();
  refusePath(value, file);
  return { value, file, locate: positionOf };
}
