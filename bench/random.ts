// Keys and random numbers for the benchmarks: cheap enough not to hide what is measured, and the same in every
// run.

/** The key of a caller: a fresh string each time, as it would come off a socket. */
export function toKey(id: number): string {
  return `user:${id}`;
}

/** Ids from 0 to `idsMax`, exclusive, in random order and with repetitions (xorshift32). */
export class RandomIds {
  readonly #idsMax: number;
  #state: number;

  constructor(idsMax: number, seed = 0x2545f491) {
    this.#idsMax = idsMax;
    this.#state = seed | 0;
  }

  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % this.#idsMax;
  }

  /** From 0 to 1, exclusive. */
  nextFraction(): number {
    this.next();
    return (this.#state >>> 0) / 2 ** 32;
  }
}

const FRESH_BITS = 24;
const FRESH_MASK = 2 ** FRESH_BITS - 1;
// Odd, so that multiplying by it visits every id once before any comes again.
const FRESH_STEP = 0x9e3779b1;

/** Every id from 0 to `idsMax`, exclusive, once each, in a scattered order. */
export class FreshIds {
  readonly #idsMax: number;
  #visited = 0;

  /** @param idsMax - At most 2^24. After as many calls of `next` the ids start again. */
  constructor(idsMax: number) {
    if (idsMax > FRESH_MASK + 1) throw new RangeError(`at most 2^24 fresh ids, got ${idsMax}`);
    this.#idsMax = idsMax;
  }

  next(): number {
    let id = this.#scatter();
    while (id >= this.#idsMax) id = this.#scatter();
    return id;
  }

  #scatter(): number {
    this.#visited = (this.#visited + 1) & FRESH_MASK;
    return Math.imul(this.#visited, FRESH_STEP) & FRESH_MASK;
  }
}
