// Refusals that are kept whatever their key, so that "the latest refusals" are there under any load: a bounded number in
// each second, and few of one key, so that a caller that is refused all the time does not hide the others.

/** In one second. */
const PER_SECOND_MAX = 20;
/** The most refusals of one key in one second. */
const OF_KEY_MAX = 3;
const SECOND_MS = 1_000;

/** Decides which refusals are kept. */
export class RefusalQuota {
  readonly #hashes = new Float64Array(PER_SECOND_MAX);
  #count = 0;
  #endMs = Number.NEGATIVE_INFINITY;

  /** Whether a refusal is kept, by the hash of its key. */
  takes(hash: number, nowMs: number): boolean {
    if (nowMs >= this.#endMs) {
      this.#endMs = nowMs + SECOND_MS;
      this.#count = 0;
    }
    if (this.#count >= PER_SECOND_MAX) return false;
    let same = 0;
    for (let i = 0; i < this.#count; i++) if (this.#hashes[i] === hash) same++;
    if (same >= OF_KEY_MAX) return false;
    this.#hashes[this.#count++] = hash;
    return true;
  }
}
