// The rate at which requests may be sent, learned from refusals alone: many servers refuse without saying what they
// allow, and a quota that others share runs out early. Additive increase, multiplicative decrease, as TCP does it. Until
// the first refusal there is no rate, and nothing is delayed.

/** What is left of the rate after a refusal. */
const DECREASE = 0.7;
/** How fast the rate grows in a second, as a share of the rate that the last refusal left. */
const INCREASE_SHARE = 0.1;
const INCREASE_MIN = 0.1;
/** It grows ever faster, by this much more for each second: a refusal that was an exception is soon made up for. */
const ACCELERATION = 0.02;
/** A rate that the client has not come near to for this long no longer limits it. */
const FORGET_MS = 30_000;
/** The lowest rate, in requests a second. */
const RATE_MIN = 0.2;
/** A client that sends less than this was hardly refused for its own rate. */
const MEASURED_MIN = 2;
/** Over this time the rate of sending is measured. */
const MEASURED_MS = 1_000;

/** The learned rate of the requests to one origin with one partition key. */
export class SendRate {
  #perSecond = Number.POSITIVE_INFINITY;
  #setAtMs = Number.NEGATIVE_INFINITY;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #delayedAtMs = Number.NEGATIVE_INFINITY;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #sentInWindow = 0;
  #sentBefore = 0;

  /** Measures on from what another one has measured: some of those requests may count here. */
  measureLike(other: SendRate): void {
    this.#windowStartMs = other.#windowStartMs;
    this.#sentInWindow = other.#sentInWindow;
    this.#sentBefore = other.#sentBefore;
  }

  /** Requests a second; Infinity while there is no rate. */
  perSecond(nowMs: number): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return this.#perSecond;
    if (nowMs - Math.max(this.#setAtMs, this.#delayedAtMs) > FORGET_MS) {
      this.#perSecond = Number.POSITIVE_INFINITY;
      return this.#perSecond;
    }
    const seconds = (nowMs - this.#setAtMs) / 1_000;
    const increase = Math.max(INCREASE_MIN, this.#perSecond * INCREASE_SHARE);
    return this.#perSecond + increase * seconds + ACCELERATION * seconds ** 2;
  }

  /** How long until the next request may be sent. */
  waitMs(nowMs: number): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return 0;
    const waitMs = Math.ceil(this.#nextAtMs - nowMs);
    if (waitMs <= 0) return 0;
    this.#delayedAtMs = nowMs;
    return waitMs;
  }

  /** A request is sent now. */
  sent(nowMs: number): void {
    if (nowMs - this.#windowStartMs >= MEASURED_MS) {
      const isNext = nowMs - this.#windowStartMs < 2 * MEASURED_MS;
      this.#sentBefore = isNext ? this.#sentInWindow : 0;
      this.#sentInWindow = 0;
      this.#windowStartMs = nowMs;
    }
    this.#sentInWindow++;
    if (this.#perSecond === Number.POSITIVE_INFINITY) return;
    const gapMs = 1_000 / this.perSecond(nowMs);
    // A slot that was missed is not made up for, except by the lateness of a timer.
    this.#nextAtMs = Math.max(this.#nextAtMs + gapMs, nowMs);
  }

  /** A request that was sent at `sentAtMs` was refused. Those sent before the rate was last set say nothing new. */
  refused(sentAtMs: number, nowMs: number): void {
    if (sentAtMs < this.#setAtMs) return;
    const measured = Math.max(MEASURED_MIN, this.#sentInWindow, this.#sentBefore);
    const perSecond = Math.min(this.perSecond(nowMs), measured);
    this.#perSecond = Math.max(RATE_MIN, DECREASE * perSecond);
    this.#setAtMs = nowMs;
    this.#nextAtMs = nowMs + 1_000 / this.#perSecond;
  }
}
