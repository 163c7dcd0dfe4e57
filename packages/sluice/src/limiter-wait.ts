// Waiting until a limit admits. Callers that wait for the same key form a line, first come, first served,
// and only the first of a line asks the store: a thousand callers that wait ask no more often than one.

import { type Clock, startRefTimer, toWholeMs } from "./clock.js";
import type { Decision } from "./decision.js";
import { SluiceError, show } from "./errors.js";
import type { PeekRequest, RequestOptions } from "./limiter-verbs.js";
import { LinkedList } from "./linked-list.js";
import { type MaybePromise, tell } from "./maybe-promise.js";
import { asOptions, orDefault, refuse } from "./options.js";

/** What `wait` needs of an `AbortSignal`. Written out, so that these types need neither Node's nor the DOM's. */
export interface WaitSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** What `wait` takes beside what every request may say of itself. */
export interface WaitOptions extends RequestOptions {
  /** The longest wait, a whole number of milliseconds from 0; default Infinity. */
  timeoutMs?: number;
  /** Ends the wait: the promise is rejected with the signal's reason, and nothing stays charged. */
  signal?: WaitSignal;
}

/** The verbs of the limiter that callers wait for. */
export interface WaitVerbs {
  check(key: string, options: RequestOptions): MaybePromise<Decision>;
  peek(key: string, options: PeekRequest): MaybePromise<Decision>;
  refund(key: string, cost?: number): MaybePromise<void>;
}

/** At most this many callers may wait for one limiter; the next one gets an error. */
const WAITING_MAX = 10_000;
/** The first of a line asks again after this long at the latest: a refund or reset may have made room. */
const SLEEP_MS_MAX = 5_000;

const SITE = { name: "wait", code: "SLUICE_OPTION_INVALID" } as const;
const KNOWN = ["cost", "requestId", "caller", "timeoutMs", "signal"] as const;

/** All callers that wait for one limiter. */
export class WaitingLines {
  readonly #verbs: WaitVerbs;
  readonly #clock: Clock;
  readonly #lines = new Map<string, LinkedList<Waiter>>();
  #waiting = 0;

  constructor(verbs: WaitVerbs, clock: Clock) {
    this.#verbs = verbs;
    this.#clock = clock;
  }

  async wait(key: string, options: WaitOptions | undefined): Promise<Decision> {
    const { timeoutMs, signal, request } = toWait(options);
    signal?.throwIfAborted();
    if (this.#waiting >= WAITING_MAX) {
      throw new SluiceError("SLUICE_TOO_MANY_WAITING", `got key ${show(key)}`);
    }
    const waiter = new Waiter(this.#clock, timeoutMs, signal);
    const leave = this.#join(key, waiter);
    try {
      while (this.#first(key) !== waiter) {
        if (waiter.isOver) return await this.#giveUp(key, request, waiter);
        // Timers may fire a millisecond early, or the clock step back: then it sleeps for the rest.
        await waiter.sleep(waiter.leftMs);
      }
      return await this.#ask(key, request, waiter);
    } finally {
      waiter.close();
      leave();
    }
  }

  /** Lets the first caller of each line ask again. If the limiter is closed, that call fails and the line moves on. */
  wakeAll(): void {
    for (const key of this.#lines.keys()) this.#first(key)?.wake();
  }

  /** Joins the line of the key. Returns a function that leaves it and wakes the next caller. */
  #join(key: string, waiter: Waiter): () => void {
    const line = this.#lines.get(key) ?? new LinkedList<Waiter>();
    this.#lines.set(key, line);
    const place = line.add(waiter);
    this.#waiting++;
    return () => {
      line.remove(place);
      this.#waiting--;
      if (line.size === 0) this.#lines.delete(key);
      else this.#first(key)?.wake();
    };
  }

  #first(key: string): Waiter | undefined {
    const line = this.#lines.get(key);
    return line?.at(line.oldest);
  }

  async #ask(key: string, request: RequestOptions, waiter: Waiter): Promise<Decision> {
    for (;;) {
      const decision = await this.#verbs.check(key, request);
      if (decision.allowed) return this.#takeSlot(key, request, waiter, decision);
      waiter.throwIfAborted();
      const { retryAfterMs } = decision;
      if (retryAfterMs > waiter.leftMs || retryAfterMs === Number.POSITIVE_INFINITY)
        return decision;
      await waiter.sleep(Math.min(retryAfterMs, SLEEP_MS_MAX));
      waiter.throwIfAborted();
    }
  }

  /** The time is up before the caller's turn came: the answer says how the key stands. */
  async #giveUp(key: string, request: RequestOptions, waiter: Waiter): Promise<Decision> {
    waiter.throwIfAborted();
    const { requestId: _, ...asked } = request;
    return { ...(await this.#verbs.peek(key, asked)), allowed: false };
  }

  /** Waits for the slot of a shaper. If the caller gives up before it, the slot is refunded. */
  async #takeSlot(
    key: string,
    { cost }: RequestOptions,
    waiter: Waiter,
    decision: Decision,
  ): Promise<Decision> {
    const { delayMs } = decision;
    const isTooLate = delayMs > waiter.leftMs;
    const slotMs = this.#clock.now() + delayMs;
    while (!isTooLate && !waiter.isAborted && this.#clock.now() < slotMs) {
      await waiter.sleep(slotMs - this.#clock.now());
    }
    if (!isTooLate && !waiter.isAborted) return decision;
    tell(() => this.#verbs.refund(key, cost));
    waiter.throwIfAborted();
    return { ...decision, allowed: false, retryAfterMs: Math.ceil(delayMs), delayMs: 0 };
  }
}

/** One caller that waits. It sleeps until its timer, its signal or the one before it wakes it. */
class Waiter {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #signal: WaitSignal | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number, signal: WaitSignal | undefined) {
    this.#clock = clock;
    this.#deadlineMs = toWholeMs(clock.now()) + timeoutMs;
    this.#signal = signal;
    signal?.addEventListener("abort", this.wake);
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
    this.#signal?.removeEventListener("abort", this.wake);
  }
}

/** The longest time that the system's timers can hold. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface Wait {
  readonly timeoutMs: number;
  readonly signal: WaitSignal | undefined;
  readonly request: RequestOptions;
}

function toWait(options: WaitOptions | undefined): Wait {
  const given = asOptions(SITE, options ?? {}, KNOWN);
  const timeoutMs = orDefault(given.timeoutMs, Number.POSITIVE_INFINITY);
  const isTime = timeoutMs === Number.POSITIVE_INFINITY || Number.isSafeInteger(timeoutMs);
  if (typeof timeoutMs !== "number" || !isTime || timeoutMs < 0) {
    const expected = "timeoutMs must be a whole number of milliseconds from 0, or Infinity";
    refuse(SITE, `${expected}, got ${show(timeoutMs)}`);
  }
  const { signal } = given;
  if (signal !== undefined && !isSignal(signal)) {
    refuse(SITE, `signal must be an AbortSignal, got ${show(signal)}`);
  }
  const { timeoutMs: _timeoutMs, signal: _signal, ...request } = options ?? {};
  return { timeoutMs, signal, request };
}

/** Not `instanceof`: a signal may come from another realm. */
function isSignal(value: unknown): value is WaitSignal {
  const { aborted, throwIfAborted, addEventListener } = Object(value) as Partial<WaitSignal>;
  return (
    typeof aborted === "boolean" &&
    typeof throwIfAborted === "function" &&
    typeof addEventListener === "function"
  );
}
