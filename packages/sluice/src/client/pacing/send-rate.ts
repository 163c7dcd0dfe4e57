// The rate at which requests may be sent where headers don't say it: many servers refuse without saying what they allow, and
// a quota that others use too runs out early. Additive increase, multiplicative decrease, as TCP does it: a refusal lowers
// the rate, and time raises it. Where responses say how much of a shared quota is left, that leads instead, so that the
// rate settles before anything is refused. Until the first sign of scarcity there is no rate, and nothing is delayed.

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

/** How fast the rate grows while all of a shared quota is left: so many requests a second, and this share of the rate. */
const LEFT_INCREASE = 0.6;
const LEFT_INCREASE_SHARE = 0.05;
/**
 * How much of the rate is lost in a second while nothing is left. The loss depends on the rate and the increase hardly does,
 * so clients that started with different rates come to have the same one. All of them follow the same quota, often by old
 * news, so none may change its rate quickly.
 */
const LEFT_DECREASE = 0.3;
/** There is a rate from the moment that less than this share is left. */
const START_BELOW_SHARE = 0.5;
/** The share of the measured rate to start with. */
const START_SHARE = 0.5;
/** At the start the rate grows by this share of itself each second. */
const START_INCREASE_SHARE = 1;
/** The start is over once less than this share is left. */
const STARTED_BELOW_SHARE = 0.75;
/** After this time without a report of what is left, time raises the rate again. */
const UNREPORTED_MS = 10_000;

/** A learned rate of requests. */
export class SendRate {
  #perSecond = Number.POSITIVE_INFINITY;
  /** From then on time raises the rate. */
  #growsFromMs = Number.NEGATIVE_INFINITY;
  /** When the rate started, or a refusal last lowered it. */
  #setAtMs = Number.NEGATIVE_INFINITY;
  /** When a response last said what is left. */
  #leftAtMs = Number.NEGATIVE_INFINITY;
  #isStarting = false;
  /** The slot of the latest request. */
  #slotAtMs = Number.NEGATIVE_INFINITY;
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
    const seconds = Math.max(0, nowMs - this.#growsFromMs) / 1_000;
    const increase = Math.max(INCREASE_MIN, this.#perSecond * INCREASE_SHARE);
    return this.#perSecond + increase * seconds + ACCELERATION * seconds ** 2;
  }

  /** How long until the next request may be sent. */
  waitMs(nowMs: number): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return 0;
    const waitMs = Math.ceil(this.#nextAtMs(nowMs) - nowMs);
    if (waitMs <= 0) return 0;
    this.#delayedAtMs = nowMs;
    return waitMs;
  }

  #nextAtMs(nowMs: number): number {
    return this.#slotAtMs + 1_000 / this.perSecond(nowMs);
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
    this.#slotAtMs = Math.max(this.#slotAtMs + gapMs, nowMs - gapMs);
  }

  /** A request that was sent at `sentAtMs` was refused. Those sent before the rate was last set say nothing new. */
  refused(sentAtMs: number, nowMs: number): void {
    if (sentAtMs < this.#setAtMs) return;
    this.#isStarting = false;
    this.#set(DECREASE * Math.min(this.perSecond(nowMs), this.#measured), nowMs);
  }

  /** A response says that this share is left of a quota that others use too. */
  left(share: number, nowMs: number): void {
    const perSecond = this.perSecond(nowMs);
    const seconds = Math.min(1_000, nowMs - this.#leftAtMs) / 1_000;
    // A rate that has delayed nothing was not tried.
    const isTried = this.#delayedAtMs >= this.#leftAtMs;
    this.#leftAtMs = nowMs;
    if (perSecond === Number.POSITIVE_INFINITY) {
      if (share < START_BELOW_SHARE) this.#start(nowMs);
      return;
    }
    if (share < STARTED_BELOW_SHARE) this.#isStarting = false;
    this.#growsFromMs = nowMs + UNREPORTED_MS;
    const increase = isTried ? share * this.#increaseOf(perSecond) : 0;
    const decrease = (1 - share) * LEFT_DECREASE * perSecond;
    this.#perSecond = Math.max(RATE_MIN, perSecond + (increase - decrease) * seconds);
  }

  #increaseOf(perSecond: number): number {
    if (this.#isStarting) return START_INCREASE_SHARE * perSecond;
    return LEFT_INCREASE + LEFT_INCREASE_SHARE * perSecond;
  }

  #start(nowMs: number): void {
    this.#isStarting = true;
    this.#set(START_SHARE * this.#measured, nowMs);
  }

  #set(perSecond: number, nowMs: number): void {
    this.#perSecond = Math.max(RATE_MIN, perSecond);
    this.#growsFromMs = Math.max(nowMs, this.#leftAtMs + UNREPORTED_MS);
    this.#setAtMs = nowMs;
    this.#slotAtMs = nowMs;
  }

  get #measured(): number {
    return Math.max(MEASURED_MIN, this.#sentInWindow, this.#sentBefore);
  }
}
