// Counts where two replays of the same requests differ: by request, by caller, by rule and by key.

import type { Facts } from "sluice/rules";
import type { Replayed, ReplaySample } from "../replay/replay.js";

/** Differences under one rule. */
export interface RuleDifference {
  /** Null for requests that no rule refused: a caller that is blocked, or everything denied. */
  readonly rule: string | null;
  /** Requests that the draft refuses and the rules in force don't. */
  readonly newlyRefused: number;
  /** The reverse. */
  readonly newlyAllowed: number;
  /** Keys with such requests. */
  readonly keys: number;
}

/** Differences of one key under a rule. */
export interface KeyDifference {
  readonly rule: string | null;
  /** As it is counted; null if it was not refused by a limit. */
  readonly key: string | null;
  readonly newlyRefused: number;
  readonly newlyAllowed: number;
}

/** Where the draft differs from the rules in force. */
export interface Differences {
  readonly requests: {
    readonly total: number;
    /** By the rules in force. */
    readonly refusedBefore: number;
    /** By the draft. */
    readonly refusedAfter: number;
    readonly newlyRefused: number;
    readonly newlyAllowed: number;
    /** Differences about keys that are not wholly in the sample, which are not counted. */
    readonly unjudged: number;
    /** Requests that the rules in force answer now as they did. */
    readonly asDecided: number;
  };
  readonly callers: {
    readonly total: number;
    readonly newlyRefused: number;
    readonly newlyAllowed: number;
  };
  /** Those with most differences first. */
  readonly byRule: readonly RuleDifference[];
  readonly byKey: readonly KeyDifference[];
  /** Keys with differences that are not listed. */
  readonly keysLeftOut: number;
}

/** Rules and keys that are listed. */
const LISTED_MAX = 200;

interface Counted {
  readonly rule: string | null;
  readonly key: string | null;
  newlyRefused: number;
  newlyAllowed: number;
}

/** Whether all requests of a key are among the samples of the place that one was counted in. */
export type IsWhole = (key: string, sample: ReplaySample) => boolean;

/** Compares, request by request. */
export class Comparison {
  readonly #isWhole: IsWhole;
  readonly #byKey = new Map<string, Counted>();
  readonly #callers = new Set<string>();
  readonly #refusedCallers = new Set<string>();
  readonly #allowedCallers = new Set<string>();
  #total = 0;
  #refusedBefore = 0;
  #refusedAfter = 0;
  #newlyRefused = 0;
  #newlyAllowed = 0;
  #unjudged = 0;
  #asDecided = 0;

  /** @param isWhole - Whether all requests of a key are among the samples. */
  constructor(isWhole: IsWhole) {
    this.#isWhole = isWhole;
  }

  /** Adds a request with both answers to it. */
  add(sample: ReplaySample, before: Replayed, after: Replayed): void {
    const { facts, outcome } = sample;
    const caller = callerOf(facts);
    this.#total++;
    this.#callers.add(caller);
    if (!before.allowed) this.#refusedBefore++;
    if (!after.allowed) this.#refusedAfter++;
    if (before.allowed === (outcome !== "blocked")) this.#asDecided++;
    if (before.allowed === after.allowed) return;
    const { rule, key } = before.allowed ? after : before;
    if (key !== undefined && !this.#isWhole(key, sample)) {
      this.#unjudged++;
      return;
    }
    const counted = this.#countedOf(rule ?? null, key ?? null);
    if (before.allowed) {
      this.#newlyRefused++;
      counted.newlyRefused++;
      this.#refusedCallers.add(caller);
    } else {
      this.#newlyAllowed++;
      counted.newlyAllowed++;
      this.#allowedCallers.add(caller);
    }
  }

  /** What was counted. */
  get differences(): Differences {
    const keys = [...this.#byKey.values()].sort(byWeight);
    return {
      requests: {
        total: this.#total,
        refusedBefore: this.#refusedBefore,
        refusedAfter: this.#refusedAfter,
        newlyRefused: this.#newlyRefused,
        newlyAllowed: this.#newlyAllowed,
        unjudged: this.#unjudged,
        asDecided: this.#asDecided,
      },
      callers: {
        total: this.#callers.size,
        newlyRefused: this.#refusedCallers.size,
        newlyAllowed: this.#allowedCallers.size,
      },
      byRule: toRules(keys).slice(0, LISTED_MAX),
      byKey: keys.slice(0, LISTED_MAX),
      keysLeftOut: Math.max(0, keys.length - LISTED_MAX),
    };
  }

  #countedOf(rule: string | null, key: string | null): Counted {
    const id = JSON.stringify([rule, key]);
    let counted = this.#byKey.get(id);
    if (counted === undefined) {
      counted = { rule, key, newlyRefused: 0, newlyAllowed: 0 };
      this.#byKey.set(id, counted);
    }
    return counted;
  }
}

function toRules(keys: readonly Counted[]): RuleDifference[] {
  const rules = new Map<
    string | null,
    { -readonly [F in keyof RuleDifference]: RuleDifference[F] }
  >();
  for (const { rule, newlyRefused, newlyAllowed } of keys) {
    const sum = rules.get(rule) ?? { rule, newlyRefused: 0, newlyAllowed: 0, keys: 0 };
    sum.newlyRefused += newlyRefused;
    sum.newlyAllowed += newlyAllowed;
    sum.keys++;
    rules.set(rule, sum);
  }
  return [...rules.values()].sort(byWeight);
}

function byWeight(a: Pick<Counted, "newlyRefused" | "newlyAllowed">, b: typeof a): number {
  return b.newlyRefused + b.newlyAllowed - a.newlyRefused - a.newlyAllowed;
}

/** The most telling name of the caller. */
function callerOf(facts: Facts | null): string {
  const { user, apiKey, tenant, ip } = facts ?? {};
  if (user !== undefined) return `user:${user}`;
  if (apiKey !== undefined) return `apiKey:${apiKey}`;
  return tenant === undefined ? `ip:${ip ?? ""}` : `tenant:${tenant}`;
}
