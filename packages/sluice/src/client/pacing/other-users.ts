// Finds out whether others use up the same quota, such as processes with the same API key. The headers don't say that. But
// a client knows how much it has sent, and if less is left than that explains, another client has sent something.

/** What a client has sent to where the quota counts. */
export interface OwnUse {
  /** Requests that were ever sent. */
  readonly sent: number;
  /** So many of them the server had counted for certain when it reported: that one, and those that ended before it was sent. */
  readonly countedMin: number;
}

/** After this time without a sign of others they are gone. */
const FORGET_MS = 30_000;

/** What is known of the others who use a quota. */
export class OtherUsers {
  #remaining: number | undefined;
  #countedMin = 0;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  /** A response reports what is left. `limit` is what there was at first; undefined if not known. */
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
