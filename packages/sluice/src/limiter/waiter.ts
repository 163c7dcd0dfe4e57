// One caller that waits for a limit: its deadline, its signal and its sleep.

import { type Clock, startRefTimer, TIMER_MS_MAX, toWholeMs } from "../base/clock.js";
import type { MaybePromise } from "../base/maybe-promise.js";

/** What `wait` needs of an `AbortSignal`. Written out, so that these types need neither Node's nor the DOM's. */
export interface WaitSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Not `instanceof`: a signal may come from another realm. */
export function isSignal(value: unknown): value is WaitSignal {
  const { aborted, throwIfAborted, addEventListener } = Object(value) as Partial<WaitSignal>;
  return (
    typeof aborted === "boolean" &&
    typeof throwIfAborted === "function" &&
    typeof addEventListener === "function"
  );
}

/** For each signal that a call waits with, a listener and what it wakes. */
const listeners = new WeakMap<
  WaitSignal,
  { readonly listen: () => void; readonly wakes: Set<() => void> }
>();

/**
 * Calls `wake` when the signal is aborted, until the function that it returns is called. All callers that share a
 * signal share one listener: Node warns about more than ten, and searches through all of them for each new one.
 */
export function onAbort(signal: WaitSignal, wake: () => void): () => void {
  const { wakes, listen } = listeners.get(signal) ?? startListening(signal);
  wakes.add(wake);
  return () => {
    wakes.delete(wake);
    if (wakes.size > 0 || !listeners.has(signal)) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", listen);
  };
}

function startListening(signal: WaitSignal) {
  const wakes = new Set<() => void>();
  const listen = () => {
    for (const wake of wakes) wake();
  };
  const listener = { wakes, listen };
  listeners.set(signal, listener);
  signal.addEventListener("abort", listen);
  return listener;
}

/** One caller that waits. It sleeps until its timer, its signal or the one before it wakes it. */
export class Waiter {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #signal: WaitSignal | undefined;
  readonly #forgetSignal: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number, signal: WaitSignal | undefined) {
    this.#clock = clock;
    this.#deadlineMs = toWholeMs(clock.now()) + timeoutMs;
    this.#signal = signal;
    this.#forgetSignal = signal === undefined ? undefined : onAbort(signal, this.wake);
  }

  get leftMs(): number {
    return this.#deadlineMs - toWholeMs(this.#clock.now());
  }

  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  get isOver(): boolean {
    return this.isAborted || this.leftMs <= 0;
  }

  readonly wake = (): void => this.#wake?.();

  throwIfAborted(): void {
    this.#signal?.throwIfAborted();
  }

  /** The value, unless the signal is aborted before it is there. */
  unlessAborted<T>(value: MaybePromise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const rejectIfAborted = () => {
        try {
          this.throwIfAborted();
        } catch (error) {
          reject(error);
        }
      };
      this.#wake = rejectIfAborted;
      Promise.resolve(value).then((found) => {
        rejectIfAborted();
        resolve(found);
      }, reject);
    });
  }

  /** Resolves when it is woken, or after `forMs` at the latest. */
  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = startRefTimer(this.#clock, Math.min(forMs, TIMER_MS_MAX), this.wake);
      this.#wake = () => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
      if (this.isAborted) this.wake();
    });
  }

  close(): void {
    this.#forgetSignal?.();
  }
}
