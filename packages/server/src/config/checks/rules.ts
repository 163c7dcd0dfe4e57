// Parses the rules that a configuration names or holds. Their problems are reported with their own lines.

import { dirname, isAbsolute, join } from "node:path";
import { SluiceError } from "sluice";
import { parseRules, type RuleProblem, type RuleSet, RulesError } from "sluice/rules";
import { toPlace } from "sluice/shapes";
import type { ConfigProblem } from "../problems.js";
import type { ConfigSections } from "../read-sections.js";
import type { ResolvePath } from "../to-config.js";
import { readNamed } from "./files.js";

/** The rules of a configuration; undefined if there are none, or if problems were added. */
export function readRules(sections: ConfigSections, at: ResolvePath): RuleSet | undefined {
  const { values, problems } = sections;
  const { rules } = values;
  if (rules === undefined || !sections.isGood("rules")) return undefined;
  if (!Object.hasOwn(rules, "file")) return readInline(sections, rules);
  const others = Object.keys(rules).filter((name) => name !== "file");
  if (others.length > 0) {
    problems.add(["rules"], `has file and ${others.join(", ")}: it may have one or the other`);
  } else if (typeof rules.file !== "string" || rules.file === "") {
    problems.add(["rules", "file"], "must be the path of a file");
  } else return readFile(sections, rules.file, at);
  return undefined;
}

const NO_RULES_FILE =
  "correct the path, which is relative to the folder of the configuration, or create the file (sluice init writes a sample)";

function readFile(sections: ConfigSections, file: string, at: ResolvePath): RuleSet | undefined {
  const text = readNamed(["rules", "file"], at(file), sections.problems, NO_RULES_FILE);
  if (text === undefined) return undefined;
  const around = sections.source.file;
  const shown = isAbsolute(file) || around === undefined ? file : join(dirname(around), file);
  try {
    return parseRules(text, { file: shown });
  } catch (error) {
    return addRuleProblems(sections, error, ({ line }) => ({
      place: toPlace(line, shown),
      // Not a line of the configuration.
      line: undefined,
    }));
  }
}

function readInline(sections: ConfigSections, rules: object): RuleSet | undefined {
  const { source } = sections;
  try {
    return parseRules(rules);
  } catch (error) {
    const lines = linesOf(source.textAt(["rules"]));
    return addRuleProblems(sections, error, ({ message }) => {
      const line = lines.get(message);
      return line === undefined ? undefined : { place: toPlace(line, source.file), line };
    });
  }
}

/** The lines of problems by their messages, out of a string that has rules at their place in the file. */
function linesOf(text: string | undefined): ReadonlyMap<string, number | undefined> {
  try {
    if (text !== undefined) parseRules(text);
  } catch (error) {
    const problems = error instanceof RulesError ? error.problems : [];
    return new Map(problems.map(({ message, line }) => [message, line]));
  }
  return new Map();
}

/** Adds the problems of an error about rules. Rethrows other errors. */
export function addRuleProblems(
  { problems, conceal }: ConfigSections,
  error: unknown,
  placeOf: (problem: RuleProblem) => Pick<ConfigProblem, "place" | "line"> | undefined,
): undefined {
  if (!(error instanceof SluiceError)) throw error;
  const found: readonly RuleProblem[] = error instanceof RulesError ? error.problems : [error];
  for (const problem of found) {
    problems.addMessage(["rules"], `rules: ${conceal(problem.message, "rules")}`, placeOf(problem));
  }
}
