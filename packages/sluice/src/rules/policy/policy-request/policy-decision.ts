// What a policy answers: a decision that names the binding rule, with the verdicts of every rule. If something is
// still to be settled, finishing the request settles it.

import { type TimeOptions, timeOf } from "../../../base/clock.js";
import {
  bindsMore,
  type Decision,
  type DecisionSource,
  type Verdict,
} from "../../../base/decision.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { describeKey } from "../../identity-keys/key.js";
import type { Rule } from "../../rule.js";
import type { DecidedCharge, DecidedRuleCharge } from "../charges/decided-charge.js";
import type { HeldCharges } from "../held-charges/held-charges.js";
import { waitMsOf } from "../held-charges/hold-times.js";
import type { RequestEnd } from "../held-charges/request-end.js";
import type { CallerBlock } from "../operator/caller-blocks.js";
import type { CallerRefusalReason } from "./caller-refusal.js";

/**
 * Why a request was refused: over a limit, a key or caller that is blocked, no identity to count by, no store that
 * answers, an operator's switch that denies it, or an API key that is unknown or can't be checked.
 */
export type RefusalReason =
  | "limit"
  | "blocked"
  | "identity"
  | "store"
  | "denied"
  | CallerRefusalReason;

/** Why a request is refused whatever the limits say. */
export interface RefusalCause {
  readonly reason: "identity" | "blocked" | "denied" | CallerRefusalReason;
  /** The rule, if it is one. */
  readonly rule?: string | undefined;
  /** Infinity if waiting does not help, or no time is known. */
  readonly retryAfterMs: number;
  /** The block of the caller, if that is why. */
  readonly block?: CallerBlock | undefined;
}

/** What one limit of a rule said. It never shows the key. */
export interface RuleResult {
  /** The id of the rule. */
  readonly rule: string;
  /** What the rule counts by: `ip`, `tenant|user`. */
  readonly keyType: string;
  /** The algorithm of the limit, such as `tokenBucket`. */
  readonly algorithm: string;
  /** What the request costs under the limit, in units; 1 where it is a permit. */
  readonly cost: number;
  /** Whether it counts and never refuses. */
  readonly shadow: boolean;
  readonly verdict: Verdict;
  /**
   * False if the store was not asked about this limit, since another was known to refuse: `remaining` and
   * `resetMs` say nothing then.
   */
  readonly isKnown: boolean;
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
  readonly #charges: readonly DecidedRuleCharge[];
  /** What is settled when the request ends; undefined if nothing is. */
  readonly #held: HeldCharges | undefined;
  /** Why it is refused, if no limit is why. */
  readonly #cause: RefusalCause | undefined;
  #bound: DecidedRuleCharge | undefined;
  #results: readonly RuleResult[] | undefined;

  constructor(
    version: string,
    charges: readonly DecidedRuleCharge[],
    held: HeldCharges | undefined,
    cause?: RefusalCause,
  ) {
    this.allowed = cause === undefined && areAllowed(charges);
    this.version = version;
    this.#charges = charges;
    this.#held = held;
    this.#cause = cause;
    this.#bound = undefined;
    this.#results = undefined;
  }

  /**
   * The decided charges themselves, for adapters and tests inside the library. Applications read `results`.
   *
   * @internal
   */
  get charges(): readonly DecidedRuleCharge[] {
    return this.#charges;
  }

  /** What each limit of each matching rule said, shadow ones included, in the order of the rules. */
  get results(): readonly RuleResult[] {
    this.#results ??= this.#charges.map(toResult);
    return this.#results;
  }

  /**
   * Shows each charge that the decision rests on, in the order of the rules, those of one rule together:
   * for metrics and logs of operators, since unlike `results` it contains keys. Makes no objects.
   */
  eachCharge(see: (rule: Rule, charge: DecidedCharge) => void): void {
    const charges = this.#charges;
    for (let i = 0; i < charges.length; i++) see(charges[i].rule.definition, charges[i]);
  }

  /**
   * The rule that bound: that refused, or that has the smallest share left. Undefined if none did: also where the caller
   * is blocked, or everything is denied.
   */
  get rule(): string | undefined {
    if (this.#cause !== undefined) return this.#cause.rule;
    return this.#binding?.rule.definition.id;
  }

  /** Undefined if allowed. */
  get reason(): RefusalReason | undefined {
    if (this.allowed) return undefined;
    return this.#cause?.reason ?? toReason(this.#binding);
  }

  get limit(): number {
    return this.#binding?.verdict.limit ?? NOTHING;
  }

  get remaining(): number {
    return this.#binding?.verdict.remaining ?? (this.allowed ? NOTHING : 0);
  }

  get retryAfterMs(): number {
    if (this.#cause !== undefined) return this.#cause.retryAfterMs;
    return this.#binding?.verdict.retryAfterMs ?? (this.allowed ? 0 : NOTHING);
  }

  /**
   * How long a refused caller should wait: until every limit that refused would let it pass; for a permit, as
   * long as permits of the rule were recently held. 0 if allowed, Infinity if waiting does not help, undefined
   * if no permit was released yet. `retryAfterMs` is the upper bound: the time until a permit expires.
   */
  get waitMs(): number | undefined {
    if (this.allowed || this.#cause !== undefined) return this.retryAfterMs;
    let longest: number | undefined;
    for (const charge of this.#charges) {
      if (charge.shadow || charge.verdict.allowed) continue;
      const waitMs = waitMsOf(charge);
      if (waitMs !== undefined && !(waitMs <= (longest ?? -1))) longest = waitMs;
    }
    return longest;
  }

  get resetMs(): number {
    return this.#binding?.verdict.resetMs ?? 0;
  }

  /** The longest of all delays; 0 if refused. */
  get delayMs(): number {
    return this.allowed ? longestDelay(this.#charges) : 0;
  }

  /**
   * How long the caller, or the key under the rule that bound, is still blocked; undefined if that is not why it was
   * refused.
   */
  get blockedMs(): number | undefined {
    if (this.#cause?.block !== undefined) return this.#cause.retryAfterMs;
    return this.#binding?.verdict.blockedMs;
  }

  /** The operator's block of the caller, if that is why it was refused: for logs of operators, not for clients. */
  get block(): CallerBlock | undefined {
    return this.#cause?.block;
  }

  get source(): DecisionSource {
    return this.#binding?.verdict.source ?? "memory";
  }

  /** The limit that bound; undefined if none did. */
  get #binding(): DecidedRuleCharge | undefined {
    if (this.#cause === undefined) this.#bound ??= toBound(this.#charges);
    return this.#bound;
  }

  /** Whether `finish` has something to settle: a permit, a reservation, a rule that counts by status. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Settles what is held, once. To be called when the response is there or the client is gone. Never
   * throws nor rejects for a store that fails, which is reported as an event. A cost that is not a whole
   * number leaves what was reserved. Throws `SLUICE_TIME_INVALID` for a `nowMs` that is not a time.
   */
  finish(end: RequestEnd = NO_END): MaybePromise<void> {
    return this.#held?.settle(end, timeOf(end));
  }

  /**
   * Refunds what is held, once and immediately: for a request that was admitted and goes no further. Of what
   * is not held, that which nothing after it could refuse stays charged. Throws only for a `nowMs` that is not a
   * time.
   */
  cancel(options?: TimeOptions): MaybePromise<void> {
    return this.#held?.cancel(timeOf(options));
  }

  /**
   * Refunds what is held, once, for a request that stopped waiting. The tokens that it waited for stay
   * taken under rules with `onExceed: delay`: the delays of later requests depend on them. Throws only for
   * a `nowMs` that is not a time.
   */
  abandon(options?: TimeOptions): MaybePromise<void> {
    return this.#held?.abandon(timeOf(options));
  }

  /** The decision without what each rule said. Infinity becomes null. */
  toJSON(): Record<string, unknown> {
    const { allowed, rule, reason, limit, remaining, retryAfterMs, resetMs, delayMs } = this;
    const { blockedMs, source, version } = this;
    const numbers = { limit, remaining, retryAfterMs, resetMs, delayMs, blockedMs };
    return { allowed, rule, reason, ...numbers, source, version };
  }
}

const NO_END: RequestEnd = {};

function toResult({
  rule,
  ruleLimit,
  units,
  shadow,
  verdict,
  isKnown,
}: DecidedRuleCharge): RuleResult {
  return {
    rule: rule.definition.id,
    keyType: describeKey(rule.definition.key),
    algorithm: ruleLimit.kind.limit.algorithm,
    cost: units,
    shadow,
    verdict,
    isKnown,
  };
}

function areAllowed(charges: readonly DecidedRuleCharge[]): boolean {
  for (let i = 0; i < charges.length; i++) {
    if (!charges[i].verdict.allowed && !charges[i].shadow) return false;
  }
  return true;
}

/** The limit whose state the decision shows, of those that are enforced. */
function toBound(charges: readonly DecidedRuleCharge[]): DecidedRuleCharge | undefined {
  let bound: DecidedRuleCharge | undefined;
  for (const charge of charges) {
    if (charge.shadow) continue;
    if (bound === undefined || bindsMore(charge.verdict, bound.verdict)) bound = charge;
  }
  return bound;
}

function longestDelay(charges: readonly DecidedRuleCharge[]): number {
  let longest = 0;
  for (const { shadow, verdict } of charges) {
    if (!shadow && verdict.delayMs > longest) longest = verdict.delayMs;
  }
  return longest;
}

/** A rule with `onMissing: refuse` refuses a request without a value for part of its key, such as an API key. */
export function toMissing(ruleId: string): RefusalCause {
  const retryAfterMs = NOTHING;
  return { reason: "identity", rule: ruleId, retryAfterMs, block: undefined };
}

function toReason(bound: DecidedRuleCharge | undefined): RefusalReason {
  if (bound === undefined) return "limit";
  if (bound.verdict.blockedMs !== undefined) return "blocked";
  const isClosed = bound.counter.onStoreFailure === "closed";
  return isClosed && bound.verdict.source === "fallback" ? "store" : "limit";
}
