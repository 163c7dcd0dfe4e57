// A handled request: what a request handler answered to one request, and the request's way on from there: waiting, going
// on, ending. Handlers see it as the info on their request.

import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { toCost } from "../../limiter/verb-input.js";
import { chargesOf, PolicyDecision, type RequestEnd } from "../../rules/policy/policy-decision.js";
import type { SingleRuleAnswer } from "../../rules/policy/single-rule-path.js";
import type { Refusal } from "../response/refusal.js";
import { type Fields, toFields } from "../response/response-headers.js";
import type { Wait } from "./delays.js";

/** What a handler can learn and say about the limits of its request. */
export interface RateLimitInfo {
  readonly decision: PolicyDecision;
  /** Of the limit that binds; Infinity if no rule matched. */
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

/** What a handled request needs of its request handler. */
export interface HandledRequestHost {
  /** The wall clock, in milliseconds since 1970. */
  wallMs(): number;
  /** Whether a request handler answered this request with a refusal. */
  isRefused(request: unknown): boolean;
}

/** What a request handler answers to a request. */
export class HandledRequest implements RateLimitInfo {
  /** The RateLimit fields, for every response: a line for each, with its end. */
  readonly lines: string;
  /** The response to send instead of going on; undefined if the request may go on. */
  readonly refusal: Refusal | undefined;
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
  ) {
    this.#host = host;
    this.#request = request;
    this.#decided = decided;
    this.lines = lines;
    this.refusal = refusal;
    this.#wait = wait;
    this.#cost = undefined;
  }

  /** Made when somebody asks for it, of a request that went the short way. */
  get decision(): PolicyDecision {
    const decided = this.#decided;
    if (decided instanceof PolicyDecision) return decided;
    const decision = decided.toDecision();
    this.#decided = decision;
    return decision;
  }

  /** The RateLimit fields one by one. */
  get fields(): Fields {
    return toFields(this.lines);
  }

  /** Whether `finish` has to be called when the response is there or the client is gone. */
  get isHeld(): boolean {
    if (this.#wait !== undefined) return true;
    return this.#decided instanceof PolicyDecision && this.#decided.isHeld;
  }

  /** Whether a rule settles by the bytes of the response's body. */
  get needsBytes(): boolean {
    return (
      this.decision.isHeld &&
      chargesOf(this.decision).some(({ rule }) => rule.definition.settle?.kind === "bytes")
    );
  }

  /** How long the request has to wait before it goes on; {@link waited} does it. */
  get delayMs(): number {
    return this.#wait === undefined ? 0 : this.decision.delayMs;
  }

  /**
   * Waits for the request's slot. True when it may go on, at once if it need not wait; false if
   * `finish` was called before: its client is gone. Never rejects.
   */
  waited(): MaybePromise<boolean> {
    return this.#wait === undefined ? true : this.#wait.over;
  }

  /**
   * Ends the request: settles what it holds, or gives it back if it never went on because its client
   * left while it waited or another request handler refused it. Once, later calls do nothing. Never throws or
   * rejects.
   */
  finish(end: RequestEnd): MaybePromise<void> {
    const cost = this.#cost;
    return isThenable(cost) ? cost.then((late) => this.#end(end, late)) : this.#end(end, cost);
  }

  #end(end: RequestEnd, cost: number | undefined): MaybePromise<void> {
    const hasLeft = this.#wait?.stop() === true;
    if (hasLeft || this.#host.isRefused(this.#request)) {
      // Who came after one that waited was told its turn by that one's slot.
      return this.#wait === undefined ? this.decision.cancel() : this.decision.abandon();
    }
    if (cost === undefined) return this.decision.finish(end);
    const { status, bytes, header } = end;
    return this.decision.finish({ status, bytes, header, cost });
  }

  /** What handlers log or send of it. */
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
