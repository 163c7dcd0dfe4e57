// The events of a circuit breaker: that it opened, that it is still open, that it closed. A
// listener must not be able to break a decision.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import { warn } from "../../../base/errors.js";
import { isThenable } from "../../../base/maybe-promise.js";
import { reasonOf } from "../store-failure.js";

/** That the circuit breaker is open and policies answer in its place, or that it is back. */
export interface FallbackEvent {
  /**
   * `entered`: enough requests failed in a row to open the circuit breaker. `lasting`: it still
   * is, repeated every `fallbackMsMax`. `left`: it answered again.
   */
  readonly kind: "entered" | "lasting" | "left";
  /** What was seen: the latest failure, or that the store answers. */
  readonly reason: string;
  /** When, in milliseconds since 1970. */
  readonly atMs: number;
  /** When the fallback was entered; `atMs - sinceMs` is how long it has lasted. */
  readonly sinceMs: number;
}

/** What a reporter is made of. */
export interface ReporterOptions {
  readonly clock: Clock;
  /** After how long in fallback the event is repeated, again and again. */
  readonly fallbackMsMax: number;
  /** Called with each event. Without it the process warns, once. */
  readonly onEvent: ((event: FallbackEvent) => unknown) | undefined;
}

/** Reports a fallback. */
export class FallbackReporter {
  readonly #options: ReporterOptions;
  #sinceMs: number | undefined;
  #cancelTimer: CancelTimer | undefined;
  #hasWarned = false;
  #isClosed = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** When the fallback was entered; undefined if there is none. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** `latest` says why it lasts, whenever that is asked. */
  enter(failure: unknown, latest: () => unknown): void {
    this.#sinceMs = this.#options.clock.now();
    if (!this.#isClosed) this.#repeat(latest);
    this.#report("entered", reasonOf(failure), this.#sinceMs);
  }

  leave(): void {
    const sinceMs = this.#sinceMs ?? this.#options.clock.now();
    this.#cancelTimer?.();
    this.#sinceMs = undefined;
    this.#report("left", "the store answers", sinceMs);
  }

  /** Stops reporting. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
  }

  #repeat(latest: () => unknown): void {
    const { clock, fallbackMsMax } = this.#options;
    this.#cancelTimer = startTimer(clock, fallbackMsMax, () => {
      this.#repeat(latest);
      this.#report("lasting", reasonOf(latest()), this.#sinceMs ?? clock.now());
    });
  }

  #report(kind: FallbackEvent["kind"], reason: string, sinceMs: number): void {
    const { clock, onEvent } = this.#options;
    if (this.#isClosed) return;
    if (onEvent === undefined) {
      this.#warn(reason);
      return;
    }
    try {
      const result = onEvent({ kind, reason, atMs: clock.now(), sinceMs });
      if (isThenable(result)) Promise.resolve(result).catch(() => {});
    } catch {
      // A listener that fails is its owner's concern; the decision at hand is ours.
    }
  }

  /** A fallback without a listener still leaves a sign. */
  #warn(reason: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    warn("SLUICE_FALLBACK", `${reason}. Pass onEvent to resilient() to follow.`);
  }
}
