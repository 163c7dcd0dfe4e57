// All requests to one origin: which may be sent now, and which wait. A request passes the circuit breaker, the limits of
// its route, and the limit of requests in flight, in this order; what waits is sent as soon as it may, the most
// important first.

import {
  type AdaptiveConcurrency,
  type AdaptivePermit,
  adaptiveConcurrency,
  type PermitOutcome,
} from "../../adaptive/adaptive-concurrency.js";
import type { Priority } from "../../adaptive/priority.js";
import { Breaker, type BreakerState, NO_TICKET } from "../../base/circuit-breaker.js";
import { type Clock, startRefTimer, TIMER_MS_MAX } from "../../base/clock.js";
import { SluiceError } from "../../base/errors.js";
import type { Random } from "../client-random.js";
import { QuotaReader } from "../headers/read-quotas.js";
import type { Route } from "../pacing/partition.js";
import type { Quota } from "../pacing/quota.js";
import { RetryBudget } from "../retry/retry-budget.js";
import { NextAdmission, TurnEnd } from "./next-admission.js";
import { ResponseTimes } from "./response-times.js";
import { goesBefore, WaitingLine, type WaitingRequest } from "./waiting-requests.js";

/** What the traffic of an origin is governed by. */
export interface TrafficOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly isPaced: boolean;
  readonly paceMsMax: number;
  readonly concurrencyMax: number;
  readonly waitingMax: number;
  readonly failuresMax: number;
  readonly openMs: number;
  readonly retryShare: number;
}

/** A request that asks to be sent. */
export interface Turn {
  readonly route: Route;
  readonly priority: Priority;
  readonly isRetry: boolean;
  /** By the client's clock; Infinity without a deadline. */
  readonly deadlineAtMs: number;
  /** Calls back when the caller gives up, until the function that it returns is called. */
  readonly onAbort: ((give: (reason: unknown) => void) => () => void) | undefined;
}

/** A request in flight. */
export interface Sent {
  readonly route: Route;
  readonly sentAtMs: number;
  /** How long it waited before. */
  readonly waitMs: number;
  readonly ticket: number;
  readonly permit: AdaptivePermit;
  readonly counted: readonly Quota[];
  /** Requests of the same partition that had ended by then. */
  readonly endedBefore: number;
}

/**
 * How many may be in flight at first. Starting low also means that the first answers, which say what the origin allows,
 * arrive before a burst is sent.
 */
const CONCURRENCY_START = 10;
/** With so many in flight, requests of one turn of the event loop are sent together at its end. */
const TOGETHER_MIN = 8;
/** Attempts always end, so that no permit is lost. */
const PERMIT_MS = 86_400_000;

/** The requests to one origin. */
export class OriginTraffic {
  readonly origin: string;
  readonly reader = new QuotaReader();
  /** Its own, or that of the origin which was forgotten to make room for it. */
  budget: RetryBudget;
  readonly concurrency: AdaptiveConcurrency;
  /**
   * Whether an attempt has run out of time. From then on attempts are aborted when their time is over: otherwise an origin
   * that hangs would get ever more of them.
   */
  hasHung = false;
  readonly #options: TrafficOptions;
  readonly #breaker: Breaker;
  readonly #onBreaker: (state: BreakerState) => void;
  #reportedState: BreakerState = "closed";
  readonly #lines = new Map<Route, WaitingLine>();
  readonly #responseTimes = new ResponseTimes();
  #waiting = 0;
  #order = 0;
  readonly #next: NextAdmission;
  readonly #turnEnd = new TurnEnd();

  constructor(
    origin: string,
    options: TrafficOptions,
    onBreaker: (origin: string, state: BreakerState) => void,
  ) {
    this.origin = origin;
    this.#options = options;
    this.budget = new RetryBudget(options.retryShare);
    const { clock, failuresMax, openMs, concurrencyMax } = options;
    this.concurrency = adaptiveConcurrency({
      clock,
      max: concurrencyMax,
      initial: Math.min(CONCURRENCY_START, concurrencyMax),
      permitMs: PERMIT_MS,
    });
    this.#breaker = new Breaker({
      clock,
      failuresMax,
      openMs,
      onOpen: () => this.#refuseAll(),
      onClose: () => {},
    });
    this.#next = new NextAdmission(clock, () => this.#admitWaiting());
    this.#onBreaker = (state) => onBreaker(origin, state);
  }

  get inFlight(): number {
    return this.concurrency.inFlight;
  }

  get #isFull(): boolean {
    return this.concurrency.inFlight >= this.concurrency.limit;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get breaker(): BreakerState {
    return this.#breaker.state;
  }

  /**
   * When a new request should ask to be sent; undefined if immediately. What is sent together costs less (`client/overhead`).
   * Where requests wait, it joins them immediately, since it may be more important.
   */
  get askAt(): Promise<void> | undefined {
    const isBusy = this.#waiting === 0 && this.concurrency.inFlight >= TOGETHER_MIN;
    return isBusy ? this.#turnEnd.reached : undefined;
  }

  /**
   * Sends a request if it may be sent now, and returns undefined otherwise. Then {@link wait} waits for its turn.
   *
   * @throws SluiceError `SLUICE_CLIENT_CIRCUIT_OPEN` if the circuit breaker is open.
   */
  trySend(route: Route, nowMs: number): Sent | undefined {
    if (this.#breaker.isShut) throw this.#circuitOpen();
    if (this.#isFull || this.#lines.has(route)) return undefined;
    if (this.#waiting > 0) {
      if (this.#next.isSoon) return undefined;
      // What waits may have become due in this very moment, and goes first.
      this.#admitWaiting();
    }
    if (this.#isFull) return undefined;
    const { mustMs, shouldMs } = route.wait(nowMs, this.#options.isPaced);
    return mustMs > 0 || shouldMs > 0 ? undefined : this.#send(route, nowMs, nowMs);
  }

  /** Waits until the request may be sent, and sends it. Rejects if its deadline is too near, or the queue is full. */
  wait(turn: Turn, nowMs: number): Promise<Sent> {
    const { route, deadlineAtMs, priority, isRetry } = turn;
    const { isPaced, paceMsMax, clock } = this.#options;
    const { mustMs } = route.wait(nowMs, isPaced);
    // A request that is sent too late to be answered by its deadline costs the origin as much as any other.
    const lastMs = deadlineAtMs - this.latencyMs;
    if (nowMs + mustMs > lastMs) return Promise.reject(tooLate(this.origin, mustMs));
    // Those that are about to be sent don't fill the queue.
    if (this.#next.isSoon && this.#waiting >= this.#options.waitingMax) this.#admitWaiting();
    return new Promise((resolve, reject) => {
      const end = () => {
        leave();
        cancelTimer();
        forget();
      };
      const leftMs = lastMs - nowMs;
      const request: WaitingRequest = {
        priority,
        isRetry,
        order: this.#order++,
        pacedUntilMs: nowMs + Math.min(paceMsMax, leftMs / 2),
        admit: () => {
          end();
          // A breaker that has opened since refuses.
          try {
            resolve(this.#send(route, clock.now(), nowMs));
          } catch (error) {
            reject(error);
          }
        },
        refuse: (error) => {
          end();
          reject(error);
        },
      };
      if (!this.#makeRoom(request)) {
        reject(this.#queueFull());
        return;
      }
      const leave = this.#join(route, request);
      const cancelTimer =
        leftMs > TIMER_MS_MAX
          ? () => {}
          : startRefTimer(clock, leftMs, () => request.refuse(tooLate(this.origin, leftMs)));
      const forget = turn.onAbort?.(request.refuse) ?? (() => {});
      if (!this.#next.isSoon) this.#admitWaiting();
    });
  }

  /** The time that most responses take; 0 before the first. */
  get latencyMs(): number {
    return this.#responseTimes.mostMs;
  }

  /** A response took this long. */
  noteLatency(latencyMs: number): void {
    this.#responseTimes.add(latencyMs);
  }

  /**
   * The request has ended: reports it to the limit of requests in flight and to the circuit breaker, and sends what
   * waits. `failure` is why the origin does not work; undefined if it does, and {@link ABANDONED} if that is not known.
   */
  ended({ ticket, permit }: Sent, outcome: PermitOutcome, failure: unknown): void {
    permit.release(outcome);
    if (failure === undefined) this.#breaker.succeed(ticket);
    else if (failure === ABANDONED) this.#breaker.abandon(ticket);
    else this.#breaker.fail(ticket, failure);
    this.#noteBreaker();
    if (this.#waiting > 0) this.#next.soon();
  }

  #send(route: Route, nowMs: number, sinceMs: number): Sent {
    const ticket = this.#breaker.ask();
    this.#noteBreaker();
    if (ticket === NO_TICKET) throw this.#circuitOpen();
    const permit = this.concurrency.acquire();
    const waitMs = nowMs - sinceMs;
    return {
      route,
      ticket,
      permit,
      sentAtMs: nowMs,
      waitMs,
      endedBefore: route.partition.ended,
      counted: route.sent(nowMs),
    };
  }

  #noteBreaker(): void {
    const { state } = this.#breaker;
    if (state === this.#reportedState) return;
    this.#reportedState = state;
    this.#onBreaker(state);
  }

  #join(route: Route, request: WaitingRequest): () => void {
    const line = this.#lines.get(route) ?? new WaitingLine();
    this.#lines.set(route, line);
    const leave = line.add(request);
    this.#waiting++;
    let isThere = true;
    return () => {
      if (!isThere) return;
      isThere = false;
      leave();
      if (--this.#waiting === 0) this.#next.cancel();
      if (line.size === 0 && this.#lines.get(route) === line) this.#lines.delete(route);
    };
  }

  /** Sends what may be sent, and sets a timer for what may be next. */
  #admitWaiting(): void {
    for (;;) {
      if (this.#isFull) return;
      const nowMs = this.#options.clock.now();
      const { request, nextMs } = this.#nextWaiting(nowMs);
      if (request === undefined) {
        this.#next.after(nextMs, nowMs);
        return;
      }
      request.admit();
    }
  }

  /** The most important request that may be sent now, or how long until there is one. */
  #nextWaiting(nowMs: number): { request: WaitingRequest | undefined; nextMs: number } {
    let request: WaitingRequest | undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [route, line] of this.#lines) {
      const { first } = line;
      if (first === undefined || (request !== undefined && !goesBefore(first, request))) continue;
      const { mustMs, shouldMs } = route.wait(nowMs, this.#options.isPaced);
      const waitMs = Math.max(mustMs, Math.min(shouldMs, Math.ceil(first.pacedUntilMs - nowMs)));
      if (waitMs <= 0) request = first;
      else nextMs = Math.min(nextMs, waitMs);
    }
    return { request, nextMs };
  }

  /** If the queue is full, the least important request of all is dropped. Returns false if that is the new one. */
  #makeRoom(request: WaitingRequest): boolean {
    if (this.#waiting < this.#options.waitingMax) return true;
    let least = request;
    for (const line of this.#lines.values()) {
      const { last } = line;
      if (last !== undefined && goesBefore(least, last)) least = last;
    }
    if (least === request) return false;
    least.refuse(this.#queueFull());
    return true;
  }

  #refuseAll(): void {
    for (const line of this.#lines.values()) {
      for (let { first } = line; first !== undefined; { first } = line) {
        first.refuse(this.#circuitOpen());
      }
    }
  }

  #queueFull(): SluiceError {
    const seen = `${this.#waiting} wait for ${this.origin}`;
    return new SluiceError("SLUICE_CLIENT_QUEUE_FULL", seen);
  }

  #circuitOpen(): SluiceError {
    const seen = `${this.origin}, for ${this.#breaker.retryAfterMs} ms more`;
    return new SluiceError("SLUICE_CLIENT_CIRCUIT_OPEN", seen);
  }
}

/** The outcome of a request whose caller gave up: it says nothing about the origin. */
export const ABANDONED = Symbol("abandoned");

function tooLate(origin: string, waitMs: number): SluiceError {
  const seen = `a request to ${origin} would have waited ${Math.ceil(waitMs)} ms or longer`;
  return new SluiceError("SLUICE_CLIENT_DEADLINE", seen);
}
