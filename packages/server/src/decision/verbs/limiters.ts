// Limiters for limits that requests bring along, one for each name and numbers, kept while they are in use. Limits
// without a name are counted apart by their numbers. Limits of one name share their counters, as before and after a
// change of numbers: callers are deployed one by one, so both are in use for a while.
// The number of limiters is bounded: beyond it, the caller (identified by token) with the most limits loses its least
// recently used limiter, which is kept while another caller has it too. So a caller that invents limits can't displace
// those that others use.

import { createHash } from "node:crypto";
import { BoundedMap, createLimiter, ForwardingStore, type Limit, type Limiter } from "sluice";
import { parseRules, RulesError } from "sluice/rules";
import { show } from "../../base/errors.js";
import type { Core } from "../../core/core.js";
import { InputError } from "../input-error.js";

/** The most limits of all limiters together: a memory store keeps an id for each. */
export const LIMITS_MAX = 10_000;

/** The log warns of different numbers under one name for at most this many names. */
const WARNINGS_MAX = 100;

/** Apart from the counters of rules, whose ids have no colon. */
const SCOPE = "inline:";

/** A limiter, and what its limits say. */
export interface InlineLimiter {
  readonly limiter: Limiter<false>;
  /** How many limits it has. */
  readonly limits: number;
  /** How long the longest permit lasts, in milliseconds; 0 if it has none. */
  readonly permitMs: number;
  /** Whether it has a quota, which goes by the wall clock and by no time of the other. */
  readonly isCalendar: boolean;
}

/** A limiter that is kept, and the callers that have it. */
interface Kept {
  readonly key: string;
  readonly inline: InlineLimiter;
  readonly callers: Set<Caller>;
}

/** The limiters that came with one token. */
interface Caller {
  /** How many limits they have. */
  limits: number;
  /** The least recently used first. Without a bound of its own: that of all callers holds. */
  readonly byKey: BoundedMap<string, Kept>;
}

/** Finds or makes limiters. */
export class Limiters {
  readonly #core: Pick<Core, "store" | "clock">;
  readonly #warn: (message: string) => void;
  /** The numbers that each name came with last, as JSON. */
  readonly #numbers = new BoundedMap<string, string>(LIMITS_MAX);
  readonly #warned = new Set<string>();
  readonly #byKey = new Map<string, Kept>();
  /** By the place of its token. */
  readonly #callers: Caller[] = [];
  #limits = 0;
  // Most callers ask for the limiter of the call before.
  #latestLimit: unknown;
  #latestName: string | undefined;
  #latestToken = -1;
  #latest: Kept | undefined;

  /** @param warn - Receives a message the first time that a name comes with different numbers. */
  constructor(core: Pick<Core, "store" | "clock">, warn: (message: string) => void = () => {}) {
    this.#core = core;
    this.#warn = warn;
  }

  /**
   * @param name - Undefined: the limit is counted apart from those with other numbers.
   * @param token - The place of the token that the request came with.
   * @throws InputError if the limit is invalid.
   */
  of(limit: unknown, name?: string, token = 0): InlineLimiter {
    const latest = this.#latest;
    if (latest !== undefined && name === this.#latestName && isSame(limit, this.#latestLimit)) {
      if (token !== this.#latestToken) this.#use(latest, token);
      return latest.inline;
    }
    // A name has at least one character.
    const key = `${name ?? ""}\n${toText(limit)}`;
    const kept = this.#byKey.get(key) ?? this.#add(key, this.#make(limit, name));
    this.#use(kept, token);
    this.#latestLimit = limit;
    this.#latestName = name;
    this.#latest = kept;
    return kept.inline;
  }

  #add(key: string, inline: InlineLimiter): Kept {
    this.#limits += inline.limits;
    while (this.#limits > LIMITS_MAX) this.#evict();
    const kept: Kept = { key, inline, callers: new Set() };
    this.#byKey.set(key, kept);
    return kept;
  }

  /** Notes that a caller used a limiter just now. */
  #use(kept: Kept, token: number): void {
    this.#latestToken = token;
    this.#callers[token] ??= { limits: 0, byKey: new BoundedMap(Number.POSITIVE_INFINITY) };
    const caller = this.#callers[token];
    if (!kept.callers.has(caller)) {
      kept.callers.add(caller);
      caller.limits += kept.inline.limits;
    }
    caller.byKey.set(kept.key, kept);
  }

  /** Looks at every caller: there are as many as tokens, which is few. */
  #evict(): void {
    const callers = this.#callers.filter((caller) => caller !== undefined);
    const most = callers.reduce((a, b) => (b.limits > a.limits ? b : a));
    const [[key, kept]] = most.byKey;
    const { limiter, limits } = kept.inline;
    most.byKey.delete(key);
    most.limits -= limits;
    kept.callers.delete(most);
    if (kept.callers.size > 0) return;
    this.#byKey.delete(key);
    this.#limits -= limits;
    void limiter.close();
  }

  #make(limit: unknown, name: string | undefined): InlineLimiter {
    const limits = readLimits(limit);
    const numbers = JSON.stringify(limits);
    if (name !== undefined) this.#noteNumbers(name, numbers);
    const { clock } = this.#core;
    // A store of its own, as if each were in another process: within one, a name has one set of numbers.
    const store = new ForwardingStore(this.#core.store);
    const limiter = createLimiter({ limit: limits, store, clock, name: toScope(name, numbers) });
    const permits = limits.map((one) => (one.algorithm === "concurrency" ? one.permitMs : 0));
    const isCalendar = limits.some(({ algorithm }) => algorithm === "quota");
    return { limiter, limits: limits.length, permitMs: Math.max(...permits), isCalendar };
  }

  #noteNumbers(name: string, numbers: string): void {
    const before = this.#numbers.get(name) ?? numbers;
    this.#numbers.set(name, numbers);
    if (before === numbers || this.#warned.has(name) || this.#warned.size >= WARNINGS_MAX) return;
    this.#warned.add(name);
    this.#warn(
      `limits named ${show(name)} came with different numbers: they share their counters, and the smaller one clips ` +
        "what the larger one has counted; if that is not a change of numbers, give each a name of its own",
    );
  }
}

/** What the limiter is called in the store: by its name, or else by its numbers, which no name can spell. */
function toScope(name: string | undefined, numbers: string): string {
  if (name !== undefined) return `${SCOPE}${name}`;
  return `${SCOPE.slice(0, -1)}#${createHash("sha256").update(numbers).digest("base64url").slice(0, 22)}`;
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
 * Whether a value of JSON says the same as another. Fields in another order are another value, which costs only a
 * look-up. One of the two is a valid limit, so the comparison never goes deep.
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
    if (rules[0].limits.some(({ algorithm }) => algorithm === "sketch")) {
      throw invalid(
        "limit is a sketch, whose memory a request can't set aside; write it as a rule",
      );
    }
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
