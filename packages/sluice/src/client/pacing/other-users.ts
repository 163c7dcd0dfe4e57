// Finds out whether others use up the same quota, such as processes with the same API key. The headers don't say that. But
// a client knows how much it has sent, and if less is left than that explains, another client has sent something.

/** The requests of one client that a quota may count. */
export interface OwnUse {
  /** All that were ever sent. */
  readonly sent: number;
  /** Those that the server had certainly counted when it reported: the request it answered, and all that ended before that. */
  readonly countedMin: number;
}

/** Others are forgotten after this time without a sign of them. */
const FORGET_MS = 30_000;

/** What is known of the others who use a quota. */
export class OtherUsers {
  #remaining: number | undefined;
  #countedMin = 0;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  /** Learns from what a response says is left. `limit` is the whole quota; undefined if not known. */
  reported(remaining: number, limit: number | undefined, own: OwnUse, nowMs: number): void {
    const leftMin = (this.#remaining ?? limit ?? 0) - (own.sent - this.#countedMin);
    if (remaining < leftMin) this.#seenAtMs = nowMs;
    this.#remaining = remaining;
    this.#countedMin = own.countedMin;
  }

  /** Whether there are any, as far as this client can know. */
  areThere(nowMs: number): boolean {
    return nowMs - this.#seenAtMs <= FORGET_MS;
  }
}
