// A request to be made, whatever sends it, and what one attempt of it came to.

import type { Priority } from "../adaptive/priority.js";
import type { WaitSignal } from "../limiter/waiter.js";
import type { HeaderSource } from "./headers/header-source.js";
import type { AttemptOutcome } from "./retry/retryable.js";

/** A response that the caller gets, unless a retry brings a better one. */
export interface Kept<R> {
  /** Another attempt is sent: the response is not needed. */
  discard(): void;
  /** The response, whole. */
  take(): R;
}

/** A request to be made, by whatever sends it. */
export interface Outgoing<R> {
  /** In upper case. */
  readonly method: string;
  readonly origin: string;
  /** Method and path: requests that the server counts alike. */
  readonly routeName: string;
  /** Who the server counts it for; empty if that is not known. */
  readonly caller: string;
  readonly priority: Priority;
  readonly deadlineMs: number;
  readonly signal: WaitSignal | undefined;
  /**
   * Whether an attempt in flight is aborted when its time is over. If not, the client only stops waiting for it, the first
   * time that this happens with its origin.
   */
  readonly isAborted: boolean;
  /** Whether sending it twice has the same effect as sending it once. */
  readonly isRepeatable: boolean;
  /** Whether its body can be sent again. */
  readonly isReplayable: boolean;
  /** What the caller can do so that its body can be sent again: `pass …`. */
  readonly bodyAdvice: string;
  /** Sends it. `limit` is aborted when there is no time left for the attempt; undefined if its time is not limited. */
  send(attempt: number, limit: AbortSignal | undefined): Promise<R>;
  statusOf(response: R): number;
  headersOf(response: R): HeaderSource;
  /** Whether the origin itself has sent it, and not another one that the origin redirected to. */
  isOfOrigin(response: R): boolean;
  keep(response: R): Kept<R>;
}

/** What one attempt came to. */
export interface Ended<R> {
  readonly response: R | undefined;
  readonly error: unknown;
  readonly outcome: AttemptOutcome;
  readonly retryAfterMs: number | undefined;
  readonly isWorthRetry: boolean;
}
