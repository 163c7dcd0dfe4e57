// Requests of many keys in one window, whose counts follow Zipf's law with the exponent 1: the key of rank r sends
// C / r requests, and each at least one. They come in a scattered order, the same in every run, and need little memory:
// a request is a place in the list of all requests by rank, and a bijection scatters the places.

/** How many keys send how many requests in all. */
export interface ZipfSize {
  readonly keys: number;
  /** More than keys, and at most 2^27. */
  readonly requests: number;
}

const PLACE_BITS = 27;
const PLACE_MASK = 2 ** PLACE_BITS - 1;

export class ZipfRequests {
  /** The keys that send more than one request are those of the ranks below this. */
  readonly repeated: number;
  readonly #requests: number;
  /** The first place of each of these ranks, and the end of the last one. */
  readonly #starts: Uint32Array;

  constructor({ keys, requests }: ZipfSize) {
    const scale = scaleFor({ keys, requests });
    this.repeated = Math.floor(scale / 2);
    this.#requests = requests;
    this.#starts = new Uint32Array(this.repeated + 1);
    // What rounding leaves over is sent by the busiest key.
    const others = totalOf(scale, keys) - Math.floor(scale);
    let place = requests - others;
    for (let rank = 1; rank <= this.repeated; rank++) {
      this.#starts[rank] = place;
      place += Math.floor(scale / (rank + 1));
    }
  }

  /** The rank of the key that sends the request of this number, from 0. */
  rankOf(request: number): number {
    let place = scatter(request);
    while (place >= this.#requests) place = scatter(place);
    const starts = this.#starts;
    const { repeated } = this;
    const single = place - (starts[repeated] as number);
    return single >= 0 ? repeated + single : lastAtMost(starts, place);
  }
}

/** The C for which the keys send that many requests, or slightly fewer. */
function scaleFor({ keys, requests }: ZipfSize): number {
  let [low, high] = [1, requests];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (totalOf(middle, keys) <= requests) low = middle;
    else high = middle;
  }
  return low;
}

function totalOf(scale: number, keys: number): number {
  const repeated = Math.floor(scale / 2);
  let total = keys - repeated;
  for (let rank = 1; rank <= repeated; rank++) total += Math.floor(scale / rank);
  return total;
}

/** A bijection of the numbers below 2^27. */
function scatter(place: number): number {
  let mix = Math.imul(place, 0x2545f491) & PLACE_MASK;
  mix ^= mix >>> 13;
  mix = Math.imul(mix, 0x5bd1e995) & PLACE_MASK;
  mix ^= mix >>> 15;
  return Math.imul(mix, 0x1b873593) & PLACE_MASK;
}

function lastAtMost(sorted: Uint32Array, target: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= target) low = middle;
    else high = middle;
  }
  return low;
}
