// One quota of a server as the client knows it, and the rule by which requests are paced under it:
//   more than half of the quota left: requests are not delayed, so that a short burst stays quick;
//   below that, requests are spaced, from no gap at a half to (time until reset ÷ remaining) at a tenth and less, so that
//   what is left lasts until the reset;
//   nothing left: requests wait for the reset, and a random time more, so that clients don't all return together.
// A quota of a short window that others use too is gone before its clients know. There a learned rate takes over.

import type { QuotaReport } from "../headers/quota-report.js";
import { OtherUsers, type OwnUse } from "./other-users.js";
import { SendRate } from "./send-rate.js";

/** With at least this share of the quota left, nothing is delayed. */
const PLENTY_SHARE = 0.5;
/** With this share or less, requests are spread evenly over the time that is left. */
const SCARCE_SHARE = 0.1;
/** The random time after a reset: this share of the wait, within these bounds. */
const JITTER_SHARE = 0.1;
const JITTER_MS_MIN = 100;
const JITTER_MS_MAX = 10_000;
/** Headers count in whole seconds. */
const SPAN_MS_MIN = 1_000;
/** Those seconds are rounded up, so the time itself is half a second less on average. */
const ROUNDED_UP_MS = 500;
/** With a longer window than this, requests wait for its end, even if others use it too. */
const SHARED_WINDOW_MS_MAX = 10_000;
/** This share of a quota is left on average, over a window that is used evenly. */
const MEAN_SHARE = 0.5;

/** How long a request has to wait, at least. */
export interface Wait {
  /** Until a request may be sent at all. */
  readonly mustMs: number;
  /** Until it should be sent, so that the quota lasts; at least `mustMs`. */
  readonly shouldMs: number;
}

/** What is known of one quota. */
export class Quota {
  readonly name: string;
  /** Learned from refusals, and from what is left of it where other clients use the same quota. */
  readonly rate = new SendRate();
  readonly #others = new OtherUsers();
  #isShared = false;
  #limit: number | undefined;
  /** The most that was ever left: stands for the limit where that is not reported. */
  #peak = 0;
  #remaining = Number.POSITIVE_INFINITY;
  /** What the latest report, or the time of the reset, said was left. */
  #remainingMax = Number.POSITIVE_INFINITY;
  /** As it was reported. */
  #resetMs = 0;
  #resetAtMs = 0;
  /** The longest time to a reset that was reported: about a window. */
  #spanMs = SPAN_MS_MIN;
  #jitterMs = 0;
  /** Since its reset no response has said what is left. */
  #isFindingOut = false;
  #isOfRequests = true;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  /** Requests that were sent and not answered: the server may not have counted them when it reported. */
  #unanswered = 0;
  /** Routes whose latest response reported this quota. */
  routes = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** What is left, as far as this client knows. */
  get remaining(): number {
    return this.#remaining;
  }

  /** The whole quota; undefined before it is known. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Learns from a response that has just arrived. `random` is from 0 to below 1. `own` is what this client has sent. */
  report(report: QuotaReport, nowMs: number, random: number, own: OwnUse): void {
    const { limit, remaining, isOfRequests } = report;
    // A quota that is used up is back after a whole window at the latest.
    const resetMs = report.resetMs ?? (remaining > 0 ? undefined : report.windowMs);
    this.#limit = limit ?? this.#limit;
    this.#peak = Math.max(this.#peak, remaining);
    this.#isOfRequests = isOfRequests;
    this.#isFindingOut = false;
    if (resetMs === undefined) {
      // Nothing says when it comes back, so it can't be waited for.
      this.#setRemaining(Number.POSITIVE_INFINITY);
      return;
    }
    this.#setRemaining(remaining);
    if (isOfRequests) this.#remaining = Math.max(0, remaining - this.#unanswered);
    this.#resetMs = resetMs;
    this.#resetAtMs = nowMs + resetMs;
    this.#spanMs = Math.max(this.#spanMs, resetMs);
    const spreadMs = Math.min(JITTER_MS_MAX, Math.max(JITTER_MS_MIN, resetMs * JITTER_SHARE));
    this.#jitterMs = Math.ceil(random * spreadMs);
    if (isOfRequests) this.#learnOfOthers(report, resetMs, nowMs, own);
  }

  #learnOfOthers(report: QuotaReport, resetMs: number, nowMs: number, own: OwnUse): void {
    const { remaining, windowMs } = report;
    this.#others.reported(remaining, this.#limit, own, nowMs);
    const spanMs = Math.max(SPAN_MS_MIN, windowMs ?? this.#spanMs);
    this.#isShared = spanMs <= SHARED_WINDOW_MS_MAX && this.#others.areThere(nowMs);
    if (!this.#isShared) return;
    // The request found one unit more. At the end of a window little is left in any case.
    const share = (remaining + 1) / this.#whole;
    const leftMs = Math.max(ROUNDED_UP_MS, resetMs - ROUNDED_UP_MS);
    this.rate.left(Math.min(1, (MEAN_SHARE * share * spanMs) / leftMs), nowMs);
  }

  /** A request that this quota counts is sent now. */
  sent(nowMs: number): void {
    this.rate.sent(nowMs);
    this.#unanswered++;
    this.#lastSentMs = nowMs;
    if (this.#isOfRequests && this.#remaining > 0) this.#remaining--;
  }

  /**
   * The response to such a request has arrived, or will not. Unless it reports otherwise, the request was not counted:
   * responses from caches, of routes without a limit and of proxies that fail must not use up a quota that nothing
   * then corrects until its reset.
   */
  answered(): void {
    this.#unanswered--;
    if (this.#isOfRequests && this.#remaining < this.#remainingMax) this.#remaining++;
  }

  /** How long a request that wants to be sent now has to wait. */
  wait(nowMs: number): Wait {
    if (this.#remaining === Number.POSITIVE_INFINITY || this.#isLedByRate) return NO_WAIT;
    const leftMs = this.#resetAtMs - nowMs;
    if (leftMs + (this.#remaining > 0 ? 0 : this.#jitterMs) <= 0) {
      this.#renew(nowMs);
      return NO_WAIT;
    }
    if (this.#remaining <= 0) return bothMs(leftMs + this.#jitterMs);
    if (!this.#isOfRequests || this.#isFindingOut) return NO_WAIT;
    const gapMs = this.#gapMs(leftMs);
    const shouldMs = Math.ceil(this.#lastSentMs + gapMs - nowMs);
    return shouldMs > 0 ? { mustMs: 0, shouldMs } : NO_WAIT;
  }

  /** A reset within a second may come in any millisecond of it. One that is further off is waited for. */
  get #isLedByRate(): boolean {
    return this.#isShared && (this.#remaining > 0 || this.#resetMs <= SPAN_MS_MIN);
  }

  get #whole(): number {
    return Math.max(1, this.#limit ?? this.#peak);
  }

  #gapMs(leftMs: number): number {
    const share = this.#remaining / this.#whole;
    if (share >= PLENTY_SHARE) return 0;
    const scarcity = Math.min(1, (PLENTY_SHARE - share) / (PLENTY_SHARE - SCARCE_SHARE));
    return (scarcity * leftMs) / this.#remaining;
  }

  /**
   * The time of the reset has come. A quota that was used up may have a single unit again, as a bucket does: one request
   * finds out, and if its response says nothing, the next one. One that was not is full, until a response says otherwise.
   */
  #renew(nowMs: number): void {
    this.#isFindingOut = this.#remaining <= 0;
    this.#setRemaining(this.#isFindingOut ? 1 : this.#whole);
    this.#resetAtMs = nowMs + this.#spanMs;
  }

  #setRemaining(remaining: number): void {
    this.#remaining = remaining;
    this.#remainingMax = remaining;
  }
}

/** Nothing to wait for. */
export const NO_WAIT: Wait = { mustMs: 0, shouldMs: 0 };

/** A wait that can't be shortened. */
export function bothMs(ms: number): Wait {
  const whole = Math.ceil(ms);
  return { mustMs: whole, shouldMs: whole };
}

/** The longer of two waits. */
export function longer(one: Wait, other: Wait): Wait {
  if (one === NO_WAIT) return other;
  if (other === NO_WAIT) return one;
  return {
    mustMs: Math.max(one.mustMs, other.mustMs),
    shouldMs: Math.max(one.shouldMs, other.shouldMs),
  };
}
