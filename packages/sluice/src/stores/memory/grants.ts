// The latest grants of operators (refund, reset), in a bounded ring. A receipt from before a grant
// may have been paid by it: with 10 reserved, all 10 refunded and 10 spent again, cancelling must
// give back nothing. What was still in use after the grant bounds what the receipt may bring.

const GRANTS_MAX = 4096;

interface Grant {
  readonly low: number;
  readonly high: number;
  readonly usedAfter: number;
}

export class Grants {
  readonly #ring: Grant[] = [];
  #sequence = 0;

  /** How many grants there have been; a receipt remembers it. */
  get sequence(): number {
    return this.#sequence;
  }

  record(grant: Grant): void {
    this.#ring[this.#sequence % GRANTS_MAX] = grant;
    this.#sequence++;
  }

  /** The most that a receipt may still give back; 0 if it is too old to tell. */
  usedMaxSince(sequence: number, low: number, high: number): number {
    if (this.#sequence - sequence > GRANTS_MAX) return 0;
    let usedMax = Number.POSITIVE_INFINITY;
    for (let i = sequence; i < this.#sequence; i++) {
      const grant = this.#ring[i % GRANTS_MAX];
      if (grant.low === low && grant.high === high) usedMax = Math.min(usedMax, grant.usedAfter);
    }
    return usedMax;
  }
}
