// A handled request: what was decided about one request, and what follows: waiting, going on, ending. Handlers of
// the application see it as the info on their request.

import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { toCost } from "../../limiter/verb-input.js";
import type { Facts } from "../../rules/facts.js";
import type { RequestEnd } from "../../rules/policy/held-charges/request-end.js";
import { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import type { SingleRuleAnswer } from "../../rules/policy/policy-request/single-rule-path.js";
import type { JsonSum } from "../../rules/rule.js";
import type { Refusal } from "../response/refusal.js";
import { type HeaderFields, toFields } from "../response/response-headers.js";
import { type BodyHeaders, BodyMeter } from "../response-cost/body-meter.js";
import type { Wait } from "./delays.js";

/** What a handler of the application can read about, and do with, the limits of its request. */
export interface RateLimitInfo {
  readonly decision: PolicyDecision;
  /** The units of the limit that binds; Infinity if no rule matched. */
  readonly limit: number;
  readonly used: number;
  /** The former name of `used`. */
  readonly current: number;
  readonly remaining: number;
  /** When the full quota is back. */
  readonly resetTime: Date;
  /** Says what the request really cost, in whole units, where a rule settles by code. The last call counts. */
  settle(cost: number): void;
}

/** What a handled request needs from its request handler. */
export interface HandledRequestHost {
  /** The wall clock, in milliseconds since 1970. */
  wallMs(): number;
  /** Whether a request handler answered this request with a refusal. */
  isRefused(request: unknown): boolean;
}

/** A request that a request handler decided. */
export class HandledRequest implements RateLimitInfo {
  /** The RateLimit headers of the response: one line for each, each ending in CRLF. */
  readonly lines: string;
  /** The response to send instead of going on; undefined if the request may go on. */
  readonly refusal: Refusal | undefined;
  /** What was found out about the request; undefined if nothing but its address was asked for. Values are read on demand. */
  readonly facts: Facts | undefined;
  readonly #wait: Wait | undefined;
  readonly #host: HandledRequestHost;
  readonly #request: unknown;
  #decided: PolicyDecision | SingleRuleAnswer;
  #cost: MaybePromise<number | undefined>;

  constructor(
    host: HandledRequestHost,
    request: unknown,
    decided: PolicyDecision | SingleRuleAnswer,
    lines: string,
    refusal: Refusal | undefined,
    wait: Wait | undefined,
    facts?: Facts,
  ) {
    this.#host = host;
    this.#request = request;
    this.#decided = decided;
    this.lines = lines;
    this.refusal = refusal;
    this.#wait = wait;
    this.facts = facts;
    this.#cost = undefined;
  }

  /** Made on demand for a request on the single-rule path. */
  get decision(): PolicyDecision {
    const decided = this.#decided;
    if (decided instanceof PolicyDecision) return decided;
    const decision = decided.toDecision();
    this.#decided = decision;
    return decision;
  }

  /** The RateLimit headers one by one. */
  get fields(): HeaderFields {
    return toFields(this.lines);
  }

  /** Whether `finish` has to be called when the response is there or the client is gone. */
  get isHeld(): boolean {
    return this.#wait !== undefined || this.#decided.isHeld;
  }

  /** Whether a rule settles by the bytes of the response's body. */
  get needsBytes(): boolean {
    return (
      this.decision.isHeld &&
      this.decision.charges.some(({ rule }) => rule.definition.settle?.kind === "bytes")
    );
  }

  /** Whether a rule settles by the JSON of the response's body. */
  get needsBody(): boolean {
    return (
      this.decision.isHeld &&
      this.decision.charges.some(({ rule }) => rule.definition.settle?.kind === "json")
    );
  }

  /** What reads the body of the response, where a rule settles by its JSON; undefined if none does. */
  toBodyMeter(headers: BodyHeaders): BodyMeter | undefined {
    if (!this.needsBody) return undefined;
    const sums = new Set<JsonSum>();
    for (const { rule } of this.decision.charges) {
      const { settle } = rule.definition;
      if (settle?.kind === "json") sums.add(settle.sum);
    }
    return new BodyMeter([...sums], headers);
  }

  /** How long the request has to wait before it continues; {@link waited} does it. */
  get delayMs(): number {
    return this.#wait === undefined ? 0 : this.decision.delayMs;
  }

  /**
   * Waits for the delay. True when the request may go on, immediately if there is no delay; false if
   * `finish` was called meanwhile, because the client is gone. Never rejects.
   */
  waited(): MaybePromise<boolean> {
    return this.#wait === undefined ? true : this.#wait.over;
  }

  /**
   * Ends the request: settles what it holds, or refunds it if the request never went on, because its client
   * disconnected while it waited or another request handler refused it. Later calls do nothing. Never throws or rejects.
   */
  finish(end: RequestEnd): MaybePromise<void> {
    const cost = this.#cost;
    return isThenable(cost) ? cost.then((late) => this.#end(end, late)) : this.#end(end, cost);
  }

  #end(end: RequestEnd, cost: number | undefined): MaybePromise<void> {
    const hasLeft = this.#wait?.stop() === true;
    if (hasLeft || this.#host.isRefused(this.#request)) {
      // Requests after one that waited were given their delays in line behind it.
      return this.#wait === undefined ? this.decision.cancel() : this.decision.abandon();
    }
    if (cost === undefined) return this.decision.finish(end);
    const { status, bytes, header, body } = end;
    return this.decision.finish({ status, bytes, header, body, cost });
  }

  /** What handlers log or send about it. */
  toJSON(): Record<string, unknown> {
    const { limit, used, remaining, resetTime } = this;
    return { limit, used, remaining, resetTime };
  }

  get limit(): number {
    return this.decision.limit;
  }

  get used(): number {
    const { limit, remaining } = this.decision;
    return limit === Number.POSITIVE_INFINITY ? 0 : limit - remaining;
  }

  get current(): number {
    return this.used;
  }

  get remaining(): number {
    return this.decision.remaining;
  }

  get resetTime(): Date {
    return new Date(this.#host.wallMs() + this.decision.resetMs);
  }

  settle(cost: number): void {
    this.#cost = toCost(cost);
  }

  /** Lets {@link finish} wait for the cost; undefined leaves it as it is. The promise may not reject. */
  settleLater(cost: Promise<number | undefined>): void {
    this.#cost = cost;
  }
}
