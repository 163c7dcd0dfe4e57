// Counts over time in a fixed number of steps. The time that a log covers is not known before it is read: when it grows
// beyond the last step, steps become twice as long, two by two.

/** How long a step is at first. */
const STEP_MS_MIN = 1_000;

/** Counts, in steps from the time at which it starts. */
export class TimeSeries {
  readonly startMs: number;
  #counts: Uint32Array;
  #stepMs = STEP_MS_MIN;

  /** @param steps - An even number. */
  constructor(startMs: number, steps: number) {
    this.startMs = startMs;
    this.#counts = new Uint32Array(steps);
  }

  /** Counts something at a time, which is not before the start. */
  add(atMs: number): void {
    let step = Math.floor((atMs - this.startMs) / this.#stepMs);
    while (step >= this.#counts.length) {
      this.#double();
      step = Math.floor((atMs - this.startMs) / this.#stepMs);
    }
    this.#counts[step]++;
  }

  /** The counts in steps of this length, which is a power of two times a second and at least that of the steps so far. */
  toCounts({ stepMs, steps }: { readonly stepMs: number; readonly steps: number }): number[] {
    while (this.#stepMs < stepMs) this.#double();
    return Array.from({ length: steps }, (_, at) => this.#counts[at] ?? 0);
  }

  /** How long a step is. */
  get stepMs(): number {
    return this.#stepMs;
  }

  #double(): void {
    const { length } = this.#counts;
    const halved = new Uint32Array(length);
    for (let at = 0; at < length; at++) halved[at >> 1] += this.#counts[at];
    this.#counts = halved;
    this.#stepMs *= 2;
  }
}
