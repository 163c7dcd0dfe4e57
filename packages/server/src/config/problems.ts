// What is wrong with a configuration: every problem with the value and the line it is about, collected and thrown
// together, so that the author of a file sees all of them in one run.

import { type Path, toFieldPath } from "sluice/shapes";
import { ServerError } from "../base/errors.js";

/** One thing that is wrong. */
export interface ConfigProblem {
  /** The value and what was seen, without the place. */
  readonly message: string;
  /** Where: `sluice.yaml:14`, `SLUICE_SERVER_WORKERS`; undefined if it came from code. */
  readonly place: string | undefined;
  /** In the file, from 1; undefined if it is not of the file. */
  readonly line: number | undefined;
}

/** The most problems that an error carries. */
export const PROBLEMS_MAX = 50;

/** The configuration can't be used. `problems` says why, the first {@link PROBLEMS_MAX} of them. */
export class ConfigError extends ServerError {
  override readonly name: string = "ConfigError";
  readonly problems: readonly ConfigProblem[];

  /** @param problems - All of them, in the order in which they are reported. */
  constructor(problems: readonly ConfigProblem[]) {
    super("SLUICE_CONFIG_INVALID", toMessage(problems));
    this.problems = problems.slice(0, PROBLEMS_MAX);
  }
}

function toMessage(problems: readonly ConfigProblem[]): string {
  const lines = problems.slice(0, PROBLEMS_MAX).map(toLine);
  if (problems.length === 1) return lines[0];
  const more = problems.length - lines.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [`${problems.length} problems`, ...lines, ...rest].join("\n  ");
}

function toLine({ message, place }: ConfigProblem): string {
  return place === undefined ? message : `${place}: ${message}`;
}

/** `routes[1].upstream`, and `upstreams["a b"]`; of the whole, `the configuration`. */
export function toPathText(path: Path): string {
  return toFieldPath(path) || "the configuration";
}

/** Collects problems in any order; they are reported in that of the file. */
export class ConfigProblems {
  readonly #problems: ConfigProblem[] = [];
  /** The paths with a problem, and those above them. */
  readonly #pathsWithProblems = new Set<string>();
  /** Where the value at a path comes from. */
  readonly placeOf: (path: Path) => Pick<ConfigProblem, "place" | "line">;

  constructor(placeOf: (path: Path) => Pick<ConfigProblem, "place" | "line">) {
    this.placeOf = placeOf;
  }

  /** Adds a problem of the value at that path. */
  add(path: Path, text: string): void {
    this.addMessage(path, `${toPathText(path)} ${text}`);
  }

  /** Adds a problem with a complete message, at another place if one is given. */
  addMessage(path: Path, message: string, place?: Pick<ConfigProblem, "place" | "line">): void {
    for (let i = 0; i <= path.length; i += 1)
      this.#pathsWithProblems.add(toPathText(path.slice(0, i)));
    this.#problems.push({ message, ...(place ?? this.placeOf(path)) });
  }

  /** Whether the value at this path, or one below it, has a problem. */
  hasProblem(path: Path): boolean {
    return this.#pathsWithProblems.has(toPathText(path));
  }

  /** Adds a problem of an environment variable. */
  addVariable(name: string, text: string): void {
    this.#problems.push({
      message: `the variable ${name} ${text}`,
      place: undefined,
      line: undefined,
    });
  }

  /** Throws what was collected, if anything. */
  throwIfAny(): void {
    if (this.#problems.length === 0) return;
    const last = Number.MAX_SAFE_INTEGER;
    throw new ConfigError(this.#problems.toSorted((a, b) => (a.line ?? last) - (b.line ?? last)));
  }
}
