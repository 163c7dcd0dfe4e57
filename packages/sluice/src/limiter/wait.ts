// Waiting until a limit admits. Callers that wait for the same key form a line, first come, first served,
// and only the first of a line asks the store: a thousand callers that wait ask no more often than one.

import type { Clock } from "../base/clock.js";
import type { Decision } from "../base/decision.js";
import { SluiceError, show } from "../base/errors.js";
import { LinkedList } from "../base/linked-list.js";
import { andThen, type MaybePromise, notify } from "../base/maybe-promise.js";
import { asOptions, refuse } from "../base/shapes/code-options.js";
import { isShaper, type Limit } from "../limits/limits.js";
import type { PeekRequest, RequestOptions } from "./request-options.js";
import type { Reservation } from "./reservation.js";
import { toCaller, toCost, toRequestId } from "./verb-input.js";
import { isSignal, Waiter, type WaitSignal } from "./waiter.js";

export type { WaitSignal } from "./waiter.js";

/** Options of `wait`, in addition to those of every request. It always uses the clock's time. */
export interface WaitOptions extends Omit<RequestOptions, "nowMs"> {
  /** The longest wait, a whole number of milliseconds from 0; default Infinity. */
  timeoutMs?: number;
  /** Ends the wait: the promise is rejected with the signal's reason, and nothing stays charged. */
  signal?: WaitSignal;
}

/** The verbs of the limiter that callers wait for. */
export interface WaitVerbs {
  check(key: string, options: RequestOptions): MaybePromise<Decision>;
  peek(key: string, options: PeekRequest): MaybePromise<Decision>;
  reserve(key: string, options: RequestOptions): MaybePromise<Reservation<false>>;
  refund(key: string, cost?: number): MaybePromise<unknown>;
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
  /** A higher cost never passes. */
  readonly #costMax: number;
  readonly #hasShaper: boolean;
  readonly #lines = new Map<string, LinkedList<Waiter>>();
  #waiting = 0;
  #isClosed = false;

  constructor(verbs: WaitVerbs, clock: Clock, limits: readonly Limit[]) {
    this.#verbs = verbs;
    this.#clock = clock;
    this.#costMax = Math.min(...limits.map(({ capacity: limit }) => limit));
    this.#hasShaper = limits.some(isShaper);
  }

  async wait(key: string, options: WaitOptions | undefined): Promise<Decision> {
    const { timeoutMs, signal, request } = toWait(options);
    signal?.throwIfAborted();
    // It would wait for its turn only to be refused.
    if (request.cost > this.#costMax) return this.#verbs.check(key, request);
    if (this.#waiting >= WAITING_MAX) {
      throw new SluiceError("SLUICE_TOO_MANY_WAITING", `got key ${show(key)}`);
    }
    const waiter = new Waiter(this.#clock, timeoutMs, signal);
    const leave = this.#join(key, waiter);
    try {
      while (this.#first(key) !== waiter && !this.#isClosed) {
        if (waiter.isOver) return await this.#timeOut(key, request, waiter);
        // Timers may fire a millisecond early, or the clock step back: then it sleeps for the rest.
        await waiter.sleep(waiter.leftMs);
      }
      return await this.#ask(key, request, waiter);
    } finally {
      waiter.close();
      leave();
    }
  }

  /** The limiter is closed: all callers ask now, which fails. A caller that has a place in a shaper's queue keeps it. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) {
      for (const place of line.places()) line.at(place).wake();
    }
  }

  /** Joins the line of the key. Returns a function that leaves it and wakes the next caller. */
  #join(key: string, waiter: Waiter): () => void {
    const line = this.#lines.get(key) ?? new LinkedList<Waiter>();
    this.#lines.set(key, line);
    const place = line.add(waiter);
    this.#waiting++;
    return () => {
      const isFirst = line.oldest === place;
      line.remove(place);
      this.#waiting--;
      if (line.size === 0) this.#lines.delete(key);
      // Otherwise each caller that stops waiting would make the first one ask the store.
      else if (isFirst) this.#first(key)?.wake();
    };
  }

  #first(key: string): Waiter | undefined {
    const line = this.#lines.get(key);
    return line?.at(line.oldest);
  }

  async #ask(key: string, request: Request, waiter: Waiter): Promise<Decision> {
    for (;;) {
      const admission = await this.#admit(key, request, waiter);
      const { decision } = admission;
      if (decision.allowed) return this.#waitInQueue(admission, waiter);
      const { retryAfterMs } = decision;
      if (retryAfterMs > waiter.leftMs || retryAfterMs === Number.POSITIVE_INFINITY)
        return decision;
      if (!this.#isClosed) await waiter.sleep(Math.min(retryAfterMs, SLEEP_MS_MAX));
      waiter.throwIfAborted();
    }
  }

  /** Asks the store. If the signal is aborted first, what the store admits after that is refunded. */
  async #admit(key: string, request: Request, waiter: Waiter): Promise<Admission> {
    const asked = this.#toAdmission(key, request);
    try {
      return await waiter.unlessAborted(asked);
    } catch (error) {
      notify(() =>
        andThen(asked, ({ decision, refund }) => (decision.allowed ? refund() : undefined)),
      );
      throw error;
    }
  }

  /**
   * A place in the queue may be refunded much later, when the windows of other limits have ended, and a requestId has to be
   * forgotten with its charge. Only a reservation can do that; otherwise a check, which is cheaper, will do.
   */
  #toAdmission(key: string, request: Request): MaybePromise<Admission> {
    const { cost, requestId } = request;
    if (!this.#hasShaper && requestId === undefined) {
      const refund = () => this.#verbs.refund(key, cost);
      return andThen(this.#verbs.check(key, request), (decision) => ({ decision, refund }));
    }
    return andThen(this.#verbs.reserve(key, request), (reservation) => {
      const { commit, cancel, ...decision } = reservation;
      return { decision, refund: cancel, keep: () => commit(cost) };
    });
  }

  /** The time is up before the caller's turn came: the answer says how the key stands. */
  async #timeOut(key: string, request: Request, waiter: Waiter): Promise<Decision> {
    waiter.throwIfAborted();
    const { requestId: _, ...asked } = request;
    return { ...(await this.#verbs.peek(key, asked)), allowed: false };
  }

  /** Waits in the queue of a shaper. If the caller stops waiting, its place is refunded. */
  async #waitInQueue({ decision, refund, keep }: Admission, waiter: Waiter): Promise<Decision> {
    const { delayMs } = decision;
    // Without a delay the cost may be spent now, even if the store took longer to say so than there was time.
    const isTooLate = delayMs > Math.max(0, waiter.leftMs);
    const departureMs = this.#clock.now() + delayMs;
    while (!isTooLate && !waiter.isAborted && this.#clock.now() < departureMs) {
      await waiter.sleep(departureMs - this.#clock.now());
    }
    if (!isTooLate && !waiter.isAborted) {
      if (keep !== undefined) notify(keep);
      return decision;
    }
    notify(refund);
    waiter.throwIfAborted();
    return { ...decision, allowed: false, retryAfterMs: Math.ceil(delayMs), delayMs: 0 };
  }
}

/** The store's answer, and how to keep or refund the charge if it admitted. */
interface Admission {
  readonly decision: Decision;
  readonly refund: () => unknown;
  /** Settles a reservation: the charge is final. */
  readonly keep?: () => MaybePromise<void>;
}

/** What is asked of the store. */
type Request = RequestOptions & { readonly cost: number };

interface Wait {
  readonly timeoutMs: number;
  readonly signal: WaitSignal | undefined;
  readonly request: Request;
}

function toWait(options: WaitOptions | undefined): Wait {
  const given = asOptions(SITE, options ?? {}, KNOWN);
  const { timeoutMs = Number.POSITIVE_INFINITY } = given;
  const isTime = timeoutMs === Number.POSITIVE_INFINITY || Number.isSafeInteger(timeoutMs);
  if (typeof timeoutMs !== "number" || !isTime || timeoutMs < 0) {
    const expected = "timeoutMs must be a whole number of milliseconds from 0, or Infinity";
    refuse(SITE, `${expected}, got ${show(timeoutMs)}`);
  }
  const { signal } = given;
  if (signal !== undefined && !isSignal(signal)) {
    refuse(SITE, `signal must be an AbortSignal, got ${show(signal)}`);
  }
  return { timeoutMs, signal, request: toRequest(given) };
}

// Checked here and not when its turn comes, which may be much later.
function toRequest(given: Partial<Record<keyof RequestOptions, unknown>>): Request {
  const requestId = toRequestId(given.requestId);
  const caller = toCaller(given.caller);
  return {
    cost: given.cost === undefined ? 1 : toCost(given.cost),
    ...(requestId === undefined ? {} : { requestId }),
    ...(caller === undefined ? {} : { caller }),
  };
}
