// How the keys of a table are divided among the limits that share it. A full table is divided as fair
// queueing divides a link: a limit that wants more than its fair share takes it from larger limits or
// from itself, so no flood under one limit can push out the counters of a smaller one.

export class Occupancy {
  readonly #keysMax: number;
  /** Keys by the id of their limit. */
  readonly #keysOf: number[] = [0];
  #keys = 0;
  /** How many limits have a key. */
  #limits = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Keys of all limits. */
  get keys(): number {
    return this.#keys;
  }

  get isFull(): boolean {
    return this.#keys >= this.#keysMax;
  }

  /** Keys of the limit with this id. */
  of(id: number): number {
    return id < this.#keysOf.length ? this.#keysOf[id] : 0;
  }

  /** Equal parts for all limits that have a key, that of `id` among them. */
  fairShare(id: number): number {
    return this.#keysMax / (this.of(id) === 0 ? this.#limits + 1 : this.#limits);
  }

  add(id: number): void {
    // Grown one by one, so that the engine keeps it an array of small integers.
    while (this.#keysOf.length <= id) this.#keysOf.push(0);
    if (this.#keysOf[id]++ === 0) this.#limits++;
    this.#keys++;
  }

  remove(id: number): void {
    if (--this.#keysOf[id] === 0) this.#limits--;
    this.#keys--;
  }
}
