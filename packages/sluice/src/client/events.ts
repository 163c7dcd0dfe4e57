// What a client reports: events as they happen, and counters of them.

import type { BreakerState } from "../base/circuit-breaker.js";

/** Why a request was not repeated. */
export type GiveUpReason = "method" | "body" | "attempts" | "budget" | "deadline" | "server";

/** Something that happened to requests of one origin. Events never carry paths, keys or headers. */
export type ClientEvent =
  /** An attempt has ended. `status` is undefined if there was no response. */
  | {
      readonly type: "attempt";
      readonly origin: string;
      readonly attempt: number;
      readonly status: number | undefined;
      readonly durationMs: number;
    }
  /** A response refused a request: 429, 503, or 403 with a rate limit. */
  | {
      readonly type: "refused";
      readonly origin: string;
      readonly status: number;
      readonly retryAfterMs: number | undefined;
    }
  /** A request will be repeated. */
  | {
      readonly type: "retry";
      readonly origin: string;
      readonly attempt: number;
      readonly delayMs: number;
    }
  /** A request that was refused or failed will not be repeated. */
  | {
      readonly type: "give-up";
      readonly origin: string;
      readonly attempt: number;
      readonly reason: GiveUpReason;
    }
  /** A request waited before it was sent. */
  | { readonly type: "waited"; readonly origin: string; readonly waitMs: number }
  /** A request was not sent, and its caller got an error with this code. */
  | { readonly type: "unsent"; readonly origin: string; readonly code: string }
  /** The circuit breaker of an origin changed its state. */
  | { readonly type: "breaker"; readonly origin: string; readonly state: BreakerState };

/** Counts of what happened since the client was made. */
export interface ClientStats {
  /** Requests that callers made. */
  readonly requests: number;
  /** Requests that were sent, retries included. */
  readonly attempts: number;
  readonly retries: number;
  /** Responses that refused. */
  readonly refusals: number;
  /** Attempts that failed: no response, or 500, 502, 504. */
  readonly failures: number;
  /** Requests that waited before they were sent. */
  readonly waits: number;
  /** Requests that were not sent: too many waited, the deadline was too near, or a breaker was open. */
  readonly unsent: number;
  /** Requests under way, by what they are doing now. */
  readonly inFlight: number;
  readonly waiting: number;
}

/** What is known of one origin. */
export interface OriginStats {
  readonly origin: string;
  readonly inFlight: number;
  /** How many may be in flight now. */
  readonly concurrencyLimit: number;
  readonly waiting: number;
  readonly breaker: BreakerState;
  /** Whole retries that are left. */
  readonly retriesLeft: number;
}

/** Counters that grow. */
export class ClientCounters {
  requests = 0;
  attempts = 0;
  retries = 0;
  refusals = 0;
  failures = 0;
  waits = 0;
  unsent = 0;
}
