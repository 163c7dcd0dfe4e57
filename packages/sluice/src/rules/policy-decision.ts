// What a policy answers: a decision that names the rule that bound, with what each rule said. If
// something is still to be settled, finishing the request settles it.

import type { Decision, Source, Verdict } from "../decision.js";
import type { MaybePromise } from "../maybe-promise.js";
import type { RuleCharge } from "./charge.js";
import { withDelay } from "./delay.js";
import type { Held } from "./held.js";

/** Why a request was refused: over a limit, no identity to count by, or no store that answers. */
export type RefusalReason = "limit" | "identity" | "store";

/** What one limit of a rule said. */
export interface RuleResult {
  readonly charge: RuleCharge;
  readonly verdict: Verdict;
  /**
   * False if nobody asked how this limit stands, since another was known to refuse: `remaining` and
   * `resetMs` say nothing then.
   */
  readonly isKnown: boolean;
}

/** How a request ended. */
export interface RequestEnd {
  /** The status of the response; absent if there was none. */
  readonly status?: number | undefined;
  /** The real cost, where a rule settles by code. */
  readonly cost?: number | undefined;
  /** Bytes of the response's body, where a rule settles by them. */
  readonly bytes?: number | undefined;
  /** A header of the response, by lower-case name, where a rule settles by one. */
  readonly header?: ((name: string) => string | undefined) | undefined;
}

const NOTHING = Number.POSITIVE_INFINITY;

/**
 * The answer of a policy. If no rule matched it allows, and its numbers are infinite. All but `allowed`
 * is looked up when it is asked for.
 */
export class PolicyDecision implements Decision {
  readonly allowed: boolean;
  /** The version of the rules that decided. */
  readonly version: string;
  /** What each limit of each matching rule said, shadow ones included, in the order of the rules. */
  readonly results: readonly RuleResult[];
  /** What is settled when the request ends; undefined if nothing is. */
  readonly #held: Held | undefined;
  /** The rule that refuses because the request lacks what it is counted by. */
  readonly #missing: string | undefined;
  #bound: RuleResult | undefined;

  constructor(
    version: string,
    results: readonly RuleResult[],
    held: Held | undefined,
    missing?: string,
  ) {
    this.allowed = missing === undefined && areAllowed(results);
    this.version = version;
    this.results = results;
    this.#held = held;
    this.#missing = missing;
    this.#bound = undefined;
  }

  /** The rule that bound: that refused, or that has the smallest share left. */
  get rule(): string | undefined {
    return this.#missing ?? this.#binding?.charge.rule.rule.id;
  }

  /** Undefined if allowed. */
  get reason(): RefusalReason | undefined {
    return this.allowed ? undefined : toReason(this.#binding);
  }

  get limit(): number {
    return this.#binding?.verdict.limit ?? NOTHING;
  }

  get remaining(): number {
    return this.#binding?.verdict.remaining ?? (this.allowed ? NOTHING : 0);
  }

  get retryAfterMs(): number {
    return this.#binding?.verdict.retryAfterMs ?? (this.allowed ? 0 : NOTHING);
  }

  get resetMs(): number {
    return this.#binding?.verdict.resetMs ?? 0;
  }

  /** The longest of all delays; 0 if refused. */
  get delayMs(): number {
    return this.allowed ? longestDelay(this.results) : 0;
  }

  get source(): Source {
    return this.#binding?.verdict.source ?? "memory";
  }

  /** The limit that bound; undefined if none did. */
  get #binding(): RuleResult | undefined {
    if (this.#missing === undefined) this.#bound ??= toBound(this.results);
    return this.#bound;
  }

  /** Whether `finish` has something to settle: a permit, a reservation, a rule that counts by status. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Settles what is held, once. To be called when the response is there or the client is gone. Never
   * throws nor rejects: a store that fails is told as an event, and a cost that is no whole number
   * leaves what was reserved.
   */
  finish(end: RequestEnd = NO_END): MaybePromise<void> {
    return this.#held?.settle(end);
  }

  /**
   * Gives back what is held, once: for a request that was admitted and never went on, such as one
   * whose client hung up while it was delayed. Charges that are not held stay. Never throws.
   */
  cancel(): MaybePromise<void> {
    return this.#held?.cancel();
  }

  /** The decision without what each rule said. Infinity becomes null. */
  toJSON(): Record<string, unknown> {
    const { allowed, rule, reason, limit, remaining, retryAfterMs, resetMs, delayMs } = this;
    const { source, version } = this;
    const numbers = { limit, remaining, retryAfterMs, resetMs, delayMs };
    return { allowed, rule, reason, ...numbers, source, version };
  }
}

const NO_END: RequestEnd = {};

function areAllowed(results: readonly RuleResult[]): boolean {
  for (let i = 0; i < results.length; i++) {
    const { charge, verdict } = results[i];
    if (!verdict.allowed && !charge.shadow) return false;
  }
  return true;
}

/** The limit whose state the decision shows, of those that are enforced. */
function toBound(results: readonly RuleResult[]): RuleResult | undefined {
  let bound: RuleResult | undefined;
  for (const result of results) {
    if (result.charge.shadow) continue;
    if (bound === undefined || bindsMore(result.verdict, bound.verdict)) bound = result;
  }
  return bound;
}

/**
 * Whether `a` binds more than `b`: it refuses, for longer if both do; or it has the smaller share left.
 * Of equals neither does.
 */
export function bindsMore(a: Verdict, b: Verdict): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining / a.limit < b.remaining / b.limit;
}

function longestDelay(results: readonly RuleResult[]): number {
  let longest = 0;
  for (const { charge, verdict } of results) {
    if (!charge.shadow && verdict.delayMs > longest) longest = verdict.delayMs;
  }
  return longest;
}

function toReason(bound: RuleResult | undefined): RefusalReason {
  if (bound === undefined) return "identity";
  const { charge, verdict } = bound;
  const isClosed = charge.counter.onStoreFailure === "closed";
  return isClosed && verdict.source === "fallback" ? "store" : "limit";
}

/**
 * Notes a store's verdict as the rule has it. `untaken` is what the verdict allows and has not charged:
 * the cost under `peek`, else 0.
 */
export function answer(charge: RuleCharge, verdict: Verdict, untaken: number): void {
  const { limit, isEnlarged } = charge.ruleLimit;
  const counted = charge.counter.limit;
  charge.verdict = isEnlarged ? withDelay(verdict, { limit, counted, untaken }) : verdict;
  // A deny cache only ever refuses: what it lets pass, it did not ask about.
  charge.isKnown = !verdict.allowed || verdict.source !== "deny-cache";
}

/** At a door where nobody can wait, who would have to is refused until then. */
export function refuseIfDelayed(charge: RuleCharge): void {
  const { verdict } = charge;
  if (!verdict.allowed || verdict.delayMs === 0 || charge.shadow) return;
  const { limit, resetMs, delayMs, source } = verdict;
  const refused = { allowed: false, limit, remaining: 0, retryAfterMs: delayMs, resetMs };
  charge.verdict = { ...refused, delayMs: 0, source };
}
