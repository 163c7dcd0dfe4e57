// Why a caller is refused before the rules that would count it are asked: it is not one that the application knows.
// The finding comes from `identify`; rules that need no identity have counted the request by then, and keep it.

/** Reasons that have nothing to do with how much a caller used. */
export type CallerRefusalReason = "unknown-api-key" | "unchecked-api-key";

/** The answer of `identify` for a caller that may not pass. */
export class CallerRefusal {
  readonly reason: CallerRefusalReason;
  /** The status of the response: rules that count by status see it. */
  readonly status = 401;
  /** When trying again may help, in milliseconds; Infinity if it does not. */
  readonly retryAfterMs: number;

  constructor(reason: CallerRefusalReason, retryAfterMs: number) {
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}
