// What is wrong with a rule file: every problem with the rule, the field and the line it is about, collected while
// the file is read and thrown together, so that its author sees all of them in one run.

import { SluiceError, show } from "../../base/errors.js";
import { type Path, toFieldPath, toPlace } from "../../base/shapes/shapes.js";

/** One thing that is wrong. */
export interface RuleProblem {
  /** The rule, the field and what was seen, without the line. */
  readonly message: string;
  /** The id of the rule, if it is about one whose id could be read. */
  readonly rule?: string;
  /** From 1; undefined if the rules did not come as a string. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
}

/** A position in a string; line and column start at 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A document of rules: its value, and where each part of it stands. */
export interface RulesDocument {
  /** The rules as a plain value, still unknown. */
  readonly value: unknown;
  /** The name of the file, if it has one. */
  readonly file: string | undefined;
  /** Where the value at that path stands, or the closest thing around it. */
  locate(path: Path): TextPosition | undefined;
}

/** The most problems that an error carries. */
export const PROBLEMS_MAX = 50;

/** The rules can't be used. `problems` says why, the first {@link PROBLEMS_MAX} of them. */
export class RulesError extends SluiceError {
  readonly problems: readonly RuleProblem[];

  constructor(problems: readonly RuleProblem[], options: { file?: string; more: number }) {
    super("SLUICE_RULES_INVALID", toMessage(problems, options));
    this.problems = problems;
  }
}

function toMessage(
  problems: readonly RuleProblem[],
  { file, more }: { file?: string; more: number },
): string {
  const lines = problems.map((problem) => `${problem.message}${toPlaceNote(problem, file)}`);
  if (lines.length === 1 && more === 0) return lines[0];
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [`${problems.length + more} problems`, ...lines, ...rest].join("\n  ");
}

function toPlaceNote({ line }: RuleProblem, file: string | undefined): string {
  const place = toPlace(line, file);
  return place === undefined ? "" : ` (${place})`;
}

/** Collects problems. */
export class RuleProblems {
  readonly document: RulesDocument;
  readonly #problems: RuleProblem[] = [];
  #count = 0;

  constructor(document: RulesDocument) {
    this.document = document;
  }

  /** How many were reported so far. */
  get count(): number {
    return this.#count;
  }

  /** Reports one. Of those beyond the bound only the number is kept. */
  add(path: Path, text: string): void {
    this.#count += 1;
    if (this.#problems.length >= PROBLEMS_MAX) return;
    const rule = ruleIdAt(this.document.value, path);
    const message = `${toLabel(path, rule)}${text}`;
    this.#problems.push({
      message,
      ...(rule === undefined ? {} : { rule }),
      ...this.document.locate(path),
    });
  }

  /** Throws what was collected, if anything. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const { file } = this.document;
    const more = this.#count - this.#problems.length;
    throw new RulesError(this.#problems, file === undefined ? { more } : { file, more });
  }
}

/** The id of the rule that a path leads into; undefined if it can't be read. */
function ruleIdAt(value: unknown, [list, index]: Path): string | undefined {
  if (list !== "rules" || typeof index !== "number") return undefined;
  const rules = (value as { rules?: unknown } | null)?.rules;
  const id = Array.isArray(rules) ? (rules[index] as { id?: unknown } | null)?.id : undefined;
  return typeof id === "string" ? id : undefined;
}

function toLabel(path: Path, rule: string | undefined): string {
  const [list, index] = path;
  if (list !== "rules" || typeof index !== "number") return toPathText(path);
  const name = rule === undefined ? `rules[${index}]` : `rule ${show(rule)}`;
  const rest = toPathText(path.slice(2));
  return `${name}: ${rest}`;
}

/** Followed by a space unless empty. */
function toPathText(path: Path): string {
  const text = toFieldPath(path);
  return text === "" ? "" : `${text} `;
}
