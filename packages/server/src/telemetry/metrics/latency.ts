// A histogram of seconds in fixed buckets from 50 µs: one array of counts and a sum, so that an
// observation is a handful of comparisons and no garbage.

import type { MetricLine } from "./sampled-metric.js";

/** Upper bounds of the buckets, in seconds. The first is 50 µs: decisions in memory are faster still. */
export const LATENCY_BUCKETS_S: readonly number[] = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
  2.5, 5,
];

const BOUNDS_MS: readonly number[] = LATENCY_BUCKETS_S.map((seconds) => seconds * 1_000);

/** How long something took, counted. */
export class Latency {
  /** One for each bucket, and one beyond the last. */
  readonly #counts = new Float64Array(BOUNDS_MS.length + 1);
  #sumMs = 0;

  /** Counts one. A span that is not a number, or negative by a clock's rounding, counts as 0. */
  observeMs(ms: number): void {
    const spanMs = ms > 0 ? ms : 0;
    let at = 0;
    while (at < BOUNDS_MS.length && spanMs > BOUNDS_MS[at]) at++;
    this.#counts[at]++;
    this.#sumMs += spanMs;
  }

  /** One for each bucket, and one beyond the last. */
  get counts(): ArrayLike<number> {
    return this.#counts;
  }

  /** The lines of a histogram of that name: each bucket holds those below it too. */
  *samples(name: string, labels: Readonly<Record<string, string>>): Generator<MetricLine> {
    let count = 0;
    for (let i = 0; i < BOUNDS_MS.length; i++) {
      count += this.#counts[i];
      const le = String(LATENCY_BUCKETS_S[i]);
      yield { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` };
    }
    count += this.#counts[BOUNDS_MS.length];
    yield { labels: { le: "+Inf", ...labels }, value: count, metricName: `${name}_bucket` };
    yield { labels, value: this.#sumMs / 1_000, metricName: `${name}_sum` };
    yield { labels, value: count, metricName: `${name}_count` };
  }
}
