// What is normal for one figure, learned from the figure itself: an exponentially weighted mean, and the mean distance
// from it. A value far above both is a departure. What is learned from a departure is cut off at the threshold, so that an
// attack takes long to become normal. Two periods in a row begin a departure and three end it, so that a figure at the
// threshold does not flap.

/** How a figure is judged. */
export interface BaselineTerms {
  /** A departure is at least this much above the mean, however quiet the figure has been. */
  readonly distanceMin: number;
}

/** The weight of a new value: what is older than about ten minutes, at periods of ten seconds, counts for a third. */
const WEIGHT = 1 / 60;
/** Periods until anything is judged: five minutes. */
export const LEARNING_PERIODS = 30;
/** A departure begins above the mean by this many times the usual distance, and ends below the second number. */
const BEGINS_AT = 6;
const ENDS_AT = 3;
const PERIODS_TO_BEGIN = 2;
const PERIODS_TO_END = 3;

/** The baseline of one figure. */
export class Baseline {
  readonly #terms: BaselineTerms;
  #mean = 0;
  #distance = 0;
  #periods = 0;
  #isActive = false;
  /** Periods in a row that speak for a change. */
  #changing = 0;

  constructor(terms: BaselineTerms) {
    this.#terms = terms;
  }

  get mean(): number {
    return this.#mean;
  }

  /** How far values usually are from the mean. */
  get distance(): number {
    return this.#distance;
  }

  /** Whether the figure departs from its baseline now. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Takes the value of a period. Returns what changed with it. */
  take(value: number): "began" | "ended" | undefined {
    const change = this.#periods < LEARNING_PERIODS ? undefined : this.#judge(value);
    this.#learn(value);
    return change;
  }

  #judge(value: number): "began" | "ended" | undefined {
    const { distanceMin } = this.#terms;
    const bound = this.#isActive
      ? this.#mean + Math.max(distanceMin / 2, ENDS_AT * this.#distance)
      : this.#mean + Math.max(distanceMin, BEGINS_AT * this.#distance);
    const speaksForChange = value > bound !== this.#isActive;
    this.#changing = speaksForChange ? this.#changing + 1 : 0;
    if (this.#changing < (this.#isActive ? PERIODS_TO_END : PERIODS_TO_BEGIN)) return undefined;
    this.#changing = 0;
    this.#isActive = !this.#isActive;
    return this.#isActive ? "began" : "ended";
  }

  #learn(value: number): void {
    this.#periods++;
    // While it learns, each value counts the same.
    const weight = Math.max(WEIGHT, 1 / this.#periods);
    const isJudged = this.#periods > LEARNING_PERIODS;
    const most = this.#mean + Math.max(this.#terms.distanceMin, BEGINS_AT * this.#distance);
    const learned = isJudged ? Math.min(value, most) : value;
    const distance = Math.abs(learned - this.#mean);
    this.#mean += weight * (learned - this.#mean);
    this.#distance += weight * ((this.#periods === 1 ? 0 : distance) - this.#distance);
  }
}
