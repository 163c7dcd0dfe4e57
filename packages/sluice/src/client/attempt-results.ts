// What the client learns from an attempt: quotas and refusals for the pace, failures for the circuit breaker, the time
// that it took for deadlines, and all of it for the limit of requests in flight.

import type { PermitOutcome } from "../adaptive/adaptive-concurrency.js";
import { wallMsOf } from "../base/clock.js";
import type { ClientSetup } from "./client-options.js";
import type { ClientCounters, ClientEvent } from "./events.js";
import { readRetryAfterMs } from "./headers/header-times.js";
import type { QuotaReport } from "./headers/quota-report.js";
import { isGlobalRefusal } from "./headers/vendor-headers.js";
import type { Ended, Outgoing } from "./outgoing-request.js";
import { toBackoffMs } from "./retry/backoff.js";
import {
  type AttemptOutcome,
  isRetriedResponse,
  isTransient,
  outcomeOf,
} from "./retry/retryable.js";
import { ABANDONED, type OriginTraffic, type Sent } from "./traffic/origin-traffic.js";

/** Learns from all attempts of one client. */
export class AttemptResults {
  readonly #setup: ClientSetup;
  readonly #counters: ClientCounters;
  readonly #report: (event: ClientEvent) => void;

  constructor(setup: ClientSetup, counters: ClientCounters, report: (event: ClientEvent) => void) {
    this.#setup = setup;
    this.#counters = counters;
    this.#report = report;
  }

  /** A response has arrived. If it can't be read, the request leaves the origin all the same. */
  answered<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    sent: Sent,
    attempt: number,
    response: R,
  ): Ended<R> {
    sent.route.ended(sent.counted);
    try {
      return this.#learn(request, traffic, sent, attempt, response);
    } catch (error) {
      traffic.ended(sent, "ignored", ABANDONED);
      throw error;
    }
  }

  #learn<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    sent: Sent,
    attempt: number,
    response: R,
  ): Ended<R> {
    const { clock, random } = this.#setup;
    const status = request.statusOf(response);
    const headers = request.headersOf(response);
    const nowMs = clock.now();
    const outcome = outcomeOf(status, headers);
    const wallMs = wallMsOf(clock);
    // What another origin says, which this one redirected to, is no reason to send less to this one.
    const isOwn = request.isOfOrigin(response);
    const reports = isOwn ? traffic.reader.read(headers, wallMs, outcome === "refused") : [];
    sent.route.learn(reports, nowMs, random, sent.endedBefore);
    // 0 says nothing about when to return.
    let retryAfterMs = (status < 400 ? 0 : readRetryAfterMs(headers, wallMs)) || undefined;
    if (outcome === "refused") {
      // GitHub sends no Retry-After with the quota that is used up.
      retryAfterMs ??= usedUpMs(reports);
      const named = isGlobalRefusal(headers) ? [] : reports;
      if (isOwn) this.#refused(request.origin, sent, status, retryAfterMs, named);
    }
    // A refusal is quicker than what the caller waits for.
    if (outcome === "answered") traffic.noteLatency(nowMs - sent.sentAtMs);
    const hasFailed = outcome === "failed";
    this.#ended(request.origin, sent, attempt, status, hasFailed);
    const failure = hasFailed && isOwn ? new Error(`status ${status}`) : undefined;
    traffic.ended(sent, isOwn ? toPermitOutcome(status, outcome) : "ignored", failure);
    const isWorthRetry = isRetriedResponse(status, outcome, headers);
    return { response, error: undefined, outcome, retryAfterMs, isWorthRetry };
  }

  /** There is no response, or it would come too late because the attempt's time is over (`isTimeout`). */
  failed<R>(
    request: Outgoing<R>,
    traffic: OriginTraffic,
    sent: Sent,
    attempt: number,
    error: unknown,
    isTimeout: boolean,
  ): Ended<R> {
    sent.route.ended(sent.counted);
    const isAborted = request.signal?.aborted === true;
    const isFailure = !isAborted && (isTimeout || isTransient(error));
    this.#ended(request.origin, sent, attempt, undefined, isFailure);
    const other = isAborted ? "abandoned" : "ignored";
    const failed = isTimeout ? "timeout" : "error";
    traffic.ended(sent, isFailure ? failed : other, isFailure ? error : ABANDONED);
    return {
      response: undefined,
      error,
      outcome: "failed",
      retryAfterMs: undefined,
      isWorthRetry: isFailure,
    };
  }

  /** Learns from a refusal: who else has to wait, and how fast to send from now on. `reports` is empty if it is for all. */
  #refused(
    origin: string,
    { route, sentAtMs }: Sent,
    status: number,
    retryAfterMs: number | undefined,
    reports: readonly QuotaReport[],
  ): void {
    const { clock, random } = this.#setup;
    const nowMs = clock.now();
    this.#counters.refusals++;
    this.#report({ type: "refused", origin, status, retryAfterMs });
    route.refused(reports, sentAtMs, nowMs);
    if (retryAfterMs === undefined) return;
    const untilMs = nowMs + toBackoffMs(this.#setup, 1, retryAfterMs, random());
    const paused = reports.length === 0 ? route.partition : route;
    paused.pausedUntilMs = Math.max(paused.pausedUntilMs, untilMs);
  }

  #ended(
    origin: string,
    { sentAtMs }: Sent,
    attempt: number,
    status: number | undefined,
    hasFailed: boolean,
  ): void {
    if (hasFailed) this.#counters.failures++;
    if (this.#setup.onEvent === undefined) return;
    const durationMs = this.#setup.clock.now() - sentAtMs;
    this.#report({ type: "attempt", origin, attempt, status, durationMs });
  }
}

/** The time until all quotas that a refusal reports as used up are back; undefined if there are none. */
function usedUpMs(reports: readonly QuotaReport[]): number | undefined {
  let longestMs = 0;
  for (const { remaining, resetMs = 0 } of reports)
    if (remaining === 0) longestMs = Math.max(longestMs, resetMs);
  return longestMs || undefined;
}

/** What a response says about how many requests the origin can take. A rate limit says nothing about that. */
function toPermitOutcome(status: number, outcome: AttemptOutcome): PermitOutcome {
  if (status === 503) return "dropped";
  if (outcome === "refused") return "ignored";
  return outcome === "failed" ? "error" : "ok";
}
