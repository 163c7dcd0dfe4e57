// One reading of a set of rules: its problems, and what rules share while they are read.

import { SluiceError } from "../../base/errors.js";
import { type Path, Reading, type Spot, toPlace } from "../../base/shapes/shapes.js";
import type { Limit } from "../../limits/limits.js";
import type { RuleProblems } from "./problems.js";

/** The most values that a set of rules may hold; aliases of large parts count each time. */
export const VALUES_MAX = 2_000_000;

/** One reading of rules. */
export class RuleReading extends Reading {
  readonly #problems: RuleProblems;
  /** How many bits of an IPv6 address are one client, by which keys are written. */
  readonly ipv6Prefix: number;
  /** Limits by their JSON: rules with equal limits share one object. */
  readonly #limits = new Map<string, Limit>();

  constructor(problems: RuleProblems, ipv6Prefix: number) {
    super(VALUES_MAX);
    this.#problems = problems;
    this.ipv6Prefix = ipv6Prefix;
  }

  get problemCount(): number {
    return this.#problems.count;
  }

  report(path: Path, problem: string): void {
    this.#problems.add(path, problem);
  }

  /** Where a value stands, as `sluice.yaml:14`; undefined if it comes from code. */
  placeOf(path: Path): string | undefined {
    const { document } = this.#problems;
    const position = document.locate(path);
    return position === undefined ? undefined : toPlace(position.line, document.file);
  }

  /** The first equal limit of this reading: one object for ten thousand rules, not ten thousand. */
  share(limit: Limit): Limit {
    const text = JSON.stringify(limit);
    const known = this.#limits.get(text);
    if (known === undefined) this.#limits.set(text, limit);
    return known ?? limit;
  }
}

/** The reading of rules that a spot belongs to. */
export function ruleReadingOf({ reading }: Spot): RuleReading {
  if (reading instanceof RuleReading) return reading;
  throw new Error("a rule was read in a reading that is not one of rules");
}

/**
 * Reports what other code of the library said in an error, from behind `prefix` on: the path says the rest. Errors
 * that are not about what was written are thrown on.
 */
export function sayError(spot: Spot, error: unknown, prefix: string): undefined {
  if (!(error instanceof SluiceError)) throw error;
  const { message } = error;
  return spot.say(message.slice(Math.max(0, message.indexOf(prefix)) + prefix.length));
}
