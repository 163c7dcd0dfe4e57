// Small counters of telemetry: labelled values, and the time that the circuit breaker was open.

import type { FallbackEvent } from "sluice";
import type { MetricLine } from "./sampled-metric.js";

/** The most combinations of labels that are counted. */
const SERIES_MAX = 2_000;

/** Numbers by labels. */
export class Counts {
  readonly #names: readonly string[];
  readonly #values = new Map<string, { labels: Record<string, string>; value: number }>();
  // All requests of a flood count towards the same series.
  #lastValues: readonly string[] = [];
  #last: { value: number } | undefined;

  /** @param names - The labels, in the order in which their values are given. */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** Adds one. */
  add(...values: readonly string[]): void {
    const series = this.#series(values);
    if (series !== undefined) series.value++;
  }

  /** Sets a value. */
  set(value: number, ...values: readonly string[]): void {
    const series = this.#series(values);
    if (series !== undefined) series.value = value;
  }

  /** All series. */
  samples(): Iterable<MetricLine> {
    return this.#values.values();
  }

  #series(values: readonly string[]): { value: number } | undefined {
    if (this.#last !== undefined && isSame(values, this.#lastValues)) return this.#last;
    this.#last = this.#find(values);
    this.#lastValues = values;
    return this.#last;
  }

  #find(values: readonly string[]): { value: number } | undefined {
    const id = values.length === 1 ? values[0] : values.join("\n");
    const known = this.#values.get(id);
    if (known !== undefined || this.#values.size >= SERIES_MAX) return known;
    const labels = Object.fromEntries(this.#names.map((name, i) => [name, values[i]]));
    const series = { labels, value: 0 };
    this.#values.set(id, series);
    return series;
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}

/** Whether the circuit breaker of the shared store is open, how often it opened and for how long. */
export class FallbackTime {
  readonly #readMs: () => number;
  /** How often it opened. */
  entered = 0;
  #sinceMs: number | undefined;
  #beforeMs = 0;

  /** @param readMs - A monotonic reading, in milliseconds. */
  constructor(readMs: () => number) {
    this.#readMs = readMs;
  }

  get isActive(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** Seconds in all, those of the present fallback included. */
  get seconds(): number {
    const nowMs = this.#sinceMs === undefined ? 0 : this.#readMs() - this.#sinceMs;
    return (this.#beforeMs + nowMs) / 1_000;
  }

  see({ kind }: FallbackEvent): void {
    if (kind === "entered" && this.#sinceMs === undefined) {
      this.entered++;
      this.#sinceMs = this.#readMs();
    } else if (kind === "left" && this.#sinceMs !== undefined) {
      this.#beforeMs += this.#readMs() - this.#sinceMs;
      this.#sinceMs = undefined;
    }
  }
}
