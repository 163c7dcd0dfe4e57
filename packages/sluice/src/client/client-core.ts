// One request from its first attempt to the answer that its caller gets, whatever sends it: waits for its turn, sends,
// learns from the response, and decides whether to send again. A response is always returned in the end if there was one;
// an error means that there is none.

import { BoundedMap } from "../base/bounded-map.js";
import { SluiceError } from "../base/errors.js";
import { notify } from "../base/maybe-promise.js";
import { spreadHash } from "../base/spread-hash.js";
import { onAbort, Waiter, type WaitSignal } from "../limiter/waiter.js";
import { AttemptLimit } from "./attempt-limit.js";
import { AttemptResults } from "./attempt-results.js";
import type { ClientSetup } from "./client-options.js";
import {
  ClientCounters,
  type ClientEvent,
  type ClientStats,
  type GiveUpReason,
  type OriginStats,
} from "./events.js";
import type { Ended, Kept, Outgoing } from "./outgoing-request.js";
import { Partition, type Route } from "./pacing/partition.js";
import { toBackoffMs } from "./retry/backoff.js";
import { endSpan, startSpan } from "./tracing.js";
import { OriginTraffic, type Sent } from "./traffic/origin-traffic.js";

/** All requests of one client. */
export class ClientCore {
  readonly #setup: ClientSetup;
  readonly #origins: BoundedMap<string, OriginTraffic>;
  readonly #partitions: BoundedMap<string, Partition>;
  readonly #counters = new ClientCounters();
  readonly #results: AttemptResults;

  constructor(setup: ClientSetup) {
    this.#setup = setup;
    this.#origins = new BoundedMap(setup.originsMax);
    this.#partitions = new BoundedMap(setup.originsMax);
    this.#results = new AttemptResults(setup, this.#counters, (event) => this.#report(event));
  }

  /** Makes a request. Resolves to the last response; rejects if there is none. */
  async run<R>(request: Outgoing<R>): Promise<R> {
    const { clock } = this.#setup;
    const traffic = this.#trafficOf(request.origin);
    const route = this.#partitionOf(request).route(request.routeName);
    const deadlineAtMs = clock.now() + request.deadlineMs;
    this.#counters.requests++;
    traffic.budget.earn();
    const askAt = traffic.askAt;
    if (askAt !== undefined) await askAt;
    let kept: Kept<R> | undefined;
    let failure: unknown;
    for (let attempt = 1; ; attempt++) {
      let sent: Sent;
      try {
        request.signal?.throwIfAborted();
        sent =
          this.#trySend(request, traffic, route) ??
          (await this.#takeTurn(request, traffic, route, attempt, deadlineAtMs));
      } catch (error) {
        if (request.signal?.aborted !== true && kept !== undefined) return kept.take();
        kept?.discard();
        if (request.signal?.aborted === true) throw error;
        throw failure ?? error;
      }
      kept?.discard();
      const ended = await this.#attempt(request, traffic, sent, attempt, deadlineAtMs);
      const delayMs = this.#toDelayMs(request, traffic, route, ended, attempt, deadlineAtMs);
      if (delayMs === undefined) {
        if (ended.response === undefined) throw ended.error;
        return ended.response;
      }
      kept = ended.response === undefined ? undefined : request.keep(ended.response);
      failure = ended.error;
      this.#counters.retries++;
      this.#report({ type: "retry", origin: request.origin, attempt: attempt + 1, delayMs });
      try {
        await this.#sleep(delayMs, request.signal);
      } catch (error) {
        kept?.discard();
        throw error;
      }
    }
  }

  /** Counters since the client was made. */
  get stats(): ClientStats {
    let inFlight = 0;
    let waiting = 0;
    for (const [, traffic] of this.#origins) {
      inFlight += traffic.inFlight;
      waiting += traffic.waiting;
    }
    return { ...this.#counters, inFlight, waiting };
  }

  /** What is known of each origin. */
  get origins(): readonly OriginStats[] {
    return Array.from(this.#origins, ([origin, traffic]) => ({
      origin,
      inFlight: traffic.inFlight,
      concurrencyLimit: traffic.concurrency.limit,
      waiting: traffic.waiting,
      breaker: traffic.breaker,
      retriesLeft: traffic.budget.left,
    }));
  }

  #trafficOf(origin: string): OriginTraffic {
    const known = this.#origins.get(origin);
    const traffic =
      known ??
      new OriginTraffic(origin, this.#setup, (at, state) =>
        this.#report({ type: "breaker", origin: at, state }),
      );
    // Set again, so that the origins in use are the newest.
    const evicted = this.#origins.set(origin, traffic);
    // Otherwise a caller that goes around many origins would have new retries for each of them, again and again.
    if (evicted !== undefined) traffic.budget = evicted.budget;
    return traffic;
  }

  #partitionOf({ origin, caller }: Outgoing<unknown>): Partition {
    const key = caller === "" ? origin : `${origin} ${spreadHash(caller)} ${spreadHash(caller, 1)}`;
    const partition = this.#partitions.get(key) ?? new Partition();
    this.#partitions.set(key, partition);
    return partition;
  }

  /** Sends the request if it may be sent now. */
  #trySend(request: Outgoing<unknown>, traffic: OriginTraffic, route: Route): Sent | undefined {
    try {
      return traffic.trySend(route, this.#setup.clock.now());
    } catch (error) {
      throw this.#noteUnsent(request.origin, error);
    }
  }

  #noteUnsent(origin: string, error: unknown): unknown {
    if (error instanceof SluiceError) {
      this.#counters.unsent++;
      this.#report({ type: "unsent", origin, code: error.code });
    }
    return error;
  }

  /** Waits until the request may be sent. */
  async #takeTurn<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    route: Route,
    attempt: number,
    deadlineAtMs: number,
  ): Promise<Sent> {
    const { signal, priority } = request;
    const nowMs = this.#setup.clock.now();
    try {
      this.#counters.waits++;
      const waited = await traffic.wait(
        {
          route,
          priority,
          isRetry: attempt > 1,
          deadlineAtMs,
          onAbort:
            signal === undefined ? undefined : (give) => onAbort(signal, () => give(signal.reason)),
        },
        nowMs,
      );
      this.#report({ type: "waited", origin: request.origin, waitMs: waited.waitMs });
      return waited;
    } catch (error) {
      throw this.#noteUnsent(request.origin, error);
    }
  }

  /** Sends the request once, and learns from what comes of it. Rejects only if a response can't be read. */
  #attempt<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    sent: Sent,
    attempt: number,
    deadlineAtMs: number,
  ): Promise<Ended<R>> {
    const { clock, attemptMsMax } = this.#setup;
    const { method, origin } = request;
    this.#counters.attempts++;
    const leftMs = Math.min(deadlineAtMs - sent.sentAtMs, attemptMsMax);
    const limit =
      leftMs === Number.POSITIVE_INFINITY
        ? undefined
        : new AttemptLimit(clock, leftMs, request.isAborted || traffic.hasHung);
    const span = startSpan(method, origin, attempt, sent.waitMs);
    const answered = (response: R) => {
      limit?.end();
      try {
        const ended = this.#results.answered(request, traffic, sent, attempt, response);
        endSpan(span, request.statusOf(response));
        return ended;
      } catch (error) {
        endSpan(span, error);
        throw error;
      }
    };
    const failed = (thrown: unknown) => {
      limit?.end();
      endSpan(span, thrown);
      const isTimeout = limit?.isOver === true;
      if (isTimeout) traffic.hasHung = true;
      const error = limit?.errorOf(thrown, origin) ?? thrown;
      return this.#results.failed(request, traffic, sent, attempt, error, isTimeout);
    };
    let sending: Promise<R>;
    try {
      // The signal may have been aborted between the request's turn and now.
      request.signal?.throwIfAborted();
      // A fetch of a test may return a response itself.
      sending = Promise.resolve(request.send(attempt, limit?.signal));
    } catch (error) {
      return Promise.resolve(failed(error));
    }
    const response = limit?.race(sending, (late) => request.keep(late).discard()) ?? sending;
    return response.then(answered, failed);
  }

  /** How long to wait before the next attempt; undefined if there is none. */
  #toDelayMs<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    route: Route,
    ended: Ended<R>,
    attempt: number,
    deadlineAtMs: number,
  ): number | undefined {
    if (ended.response !== undefined && ended.outcome === "answered" && !ended.isWorthRetry)
      return undefined;
    const { retriesMax, random, clock, isPaced } = this.#setup;
    const delayMs = toBackoffMs(this.#setup, attempt, ended.retryAfterMs, random());
    const giveUp = (reason: GiveUpReason): undefined => {
      this.#report({ type: "give-up", origin: request.origin, attempt, reason });
    };
    if (request.signal?.aborted === true) return undefined;
    if (!ended.isWorthRetry) return giveUp("server");
    if (!request.isRepeatable) return giveUp("method");
    if (attempt > retriesMax) return giveUp("attempts");
    const nowMs = clock.now();
    const readyMs = nowMs + Math.max(delayMs, route.wait(nowMs, isPaced).mustMs);
    if (readyMs + traffic.latencyMs >= deadlineAtMs) return giveUp("deadline");
    if (!request.isReplayable) {
      giveUp("body");
      if (ended.response === undefined) throw bodySpent(request, ended.error);
      return undefined;
    }
    if (!traffic.budget.spend()) return giveUp("budget");
    return delayMs;
  }

  async #sleep(delayMs: number, signal: WaitSignal | undefined): Promise<void> {
    const waiter = new Waiter(this.#setup.clock, delayMs, signal);
    try {
      // Timers may fire a millisecond early.
      while (waiter.leftMs > 0) {
        await waiter.sleep(waiter.leftMs);
        waiter.throwIfAborted();
      }
    } finally {
      waiter.close();
    }
  }

  #report(event: ClientEvent): void {
    const { onEvent } = this.#setup;
    if (onEvent !== undefined) notify(() => onEvent(event));
  }
}

function bodySpent({ method, origin, bodyAdvice }: Outgoing<unknown>, cause: unknown): SluiceError {
  const seen = `${method} to ${origin} with a stream; ${bodyAdvice}`;
  return new SluiceError("SLUICE_CLIENT_BODY_SPENT", seen, { cause });
}
