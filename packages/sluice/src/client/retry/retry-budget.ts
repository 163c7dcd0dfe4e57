// How many retries an origin may get: a share of its requests, so that clients never multiply the load of a server that
// fails. A token bucket, as in Finagle and gRPC: each request adds a share of a token, each retry takes one.

/** Retries that a client may make before any request has earned them. */
export const BUDGET_MAX = 10;

/** The retries that are left for one origin. */
export class RetryBudget {
  readonly #share: number;
  #tokens = BUDGET_MAX;

  /** @param share - Retries for each request, 0 to 1. With 0 there are none. */
  constructor(share: number) {
    this.#share = share;
    if (share === 0) this.#tokens = 0;
  }

  /** Whole retries that are left. */
  get left(): number {
    return Math.floor(this.#tokens + ROUNDING);
  }

  /** A request is made, which is not a retry. */
  earn(): void {
    this.#tokens = Math.min(BUDGET_MAX, this.#tokens + this.#share);
  }

  /** Takes one retry. Returns whether there was one. */
  spend(): boolean {
    if (this.left < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Ten times a tenth is a little less than one. */
const ROUNDING = 1e-9;
