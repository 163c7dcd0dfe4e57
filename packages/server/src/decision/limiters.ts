// Limiters for limits that requests bring along, one for each name and numbers, kept while they are in use.
// Counters live in the store and not here: a limiter that is forgotten and made again goes on counting.

import { createLimiter, type Limit, type Limiter } from "sluice";
import { parseRules, RulesError } from "sluice/rules";
import type { Core } from "../core.js";
import { ServerError } from "../errors.js";
import { InputError } from "./input-error.js";

/** Limiters at once; the one that was not used for longest goes first. */
const LIMITERS_MAX = 1_000;

/** Different numbers in the life of the process: a memory store keeps a place for each. */
const LIMITS_MAX = 10_000;

/** Apart from the counters of rules, whose ids have no colon. */
const SCOPE = "inline:";
const DEFAULT_NAME = "default";

/** A limiter, and what its limits say. */
export interface InlineLimiter {
  readonly limiter: Limiter<false>;
  /** How long the longest permit lasts, in milliseconds; 0 if it has none. */
  readonly permitMs: number;
  /** Whether it has a quota, which goes by the wall clock and by no time of the other. */
  readonly isCalendar: boolean;
}

/** Finds or makes limiters. */
export class Limiters {
  readonly #core: Pick<Core, "store" | "clock">;
  readonly #byKey = new Map<string, InlineLimiter>();
  readonly #limitsSeen = new Set<string>();
  // Most callers ask for the limiter of the call before.
  #latestLimit: unknown;
  #latestName = "";
  #latest: InlineLimiter | undefined;

  constructor(core: Pick<Core, "store" | "clock">) {
    this.#core = core;
  }

  /** @throws InputError if the limit can't hold. */
  of(limit: unknown, name: string = DEFAULT_NAME): InlineLimiter {
    const latest = this.#latest;
    if (latest !== undefined && name === this.#latestName && isSame(limit, this.#latestLimit)) {
      return latest;
    }
    const key = `${name}\n${toText(limit)}`;
    const found = this.#byKey.get(key) ?? this.#make(limit, name);
    // A map is in the order of insertion: who is used goes to its end.
    this.#byKey.delete(key);
    this.#byKey.set(key, found);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > LIMITERS_MAX) this.#byKey.delete(oldest);
    this.#latestLimit = limit;
    this.#latestName = name;
    this.#latest = found;
    return found;
  }

  #make(limit: unknown, name: string): InlineLimiter {
    const limits = readLimits(limit);
    // As they were read: however they were written, the same limits are one.
    const numbers = JSON.stringify(limits);
    if (!this.#limitsSeen.has(numbers) && this.#limitsSeen.size >= LIMITS_MAX) {
      throw new ServerError("SLUICE_LIMITS_EXHAUSTED", `${LIMITS_MAX} were asked for before`);
    }
    this.#limitsSeen.add(numbers);
    const { store, clock } = this.#core;
    const limiter = createLimiter({ limit: limits, store, clock, name: `${SCOPE}${name}` });
    const permits = limits.map((one) => (one.algorithm === "concurrency" ? one.permitMs : 0));
    const isCalendar = limits.some(({ algorithm }) => algorithm === "quota");
    return { limiter, permitMs: Math.max(...permits), isCalendar };
  }
}

function toText(limit: unknown): string {
  try {
    return JSON.stringify(limit);
  } catch {
    // Only what is nested thousands of times can be parsed and not be written.
    throw invalid("limit is nested too deep");
  }
}

/**
 * Whether a value of JSON says the same as another. Fields in another order are another value, which costs a
 * look-up and no more. What is compared against is a limit that could be used, and so never deep.
 */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  let fields = 0;
  for (const name in a) {
    if (!Object.hasOwn(b, name)) return false;
    if (!isSame((a as Fields)[name], (b as Fields)[name])) return false;
    fields += 1;
  }
  for (const _ in b) fields -= 1;
  return fields === 0;
}

type Fields = Readonly<Record<string, unknown>>;

const READER = "inline";
const LABEL = `rule "${READER}": `;

/** Limits as a file of rules writes them, read by what reads such files: one form, and the same words. */
function readLimits(limit: unknown): readonly Limit[] {
  if (limit === "unlimited") throw invalid('limit must be one that holds, got "unlimited"');
  try {
    const { rules } = parseRules({ version: 1, rules: [{ id: READER, key: "global", limit }] });
    return rules[0].limits;
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    throw invalid(error.problems.map(({ message }) => message.replace(LABEL, "")).join("; "));
  }
}

/** `limit[1].tokenBucket.capacity must be …` as an error about that field. */
function invalid(text: string): InputError {
  const space = text.indexOf(" ");
  const error = new InputError(text.slice(space + 1));
  const steps = text.slice(0, space).split(/[.[\]]+/);
  for (const step of steps.filter((one) => one !== "").reverse()) {
    error.within(/^\d+$/.test(step) ? Number(step) : step);
  }
  return error;
}
