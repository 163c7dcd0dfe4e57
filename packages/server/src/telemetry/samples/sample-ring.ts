// The newest samples, bounded in number and in characters.

/** The bounds of a ring. */
export interface RingBounds {
  readonly countMax: number;
  readonly charsMax: number;
}

/** Keeps the newest values. */
export class SampleRing<T> {
  readonly #bounds: RingBounds;
  readonly #values: (T | undefined)[] = [];
  readonly #chars: number[] = [];
  /** Where the oldest stands, and how many there are. */
  #first = 0;
  #count = 0;
  #charsInAll = 0;
  /** The newest of those that made room; undefined if none had to. */
  lastDropped: T | undefined = undefined;

  constructor(bounds: RingBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a value of this many characters; the oldest ones make room. */
  add(value: T, chars: number): void {
    const { countMax, charsMax } = this.#bounds;
    while (this.#count > 0 && (this.#count >= countMax || this.#charsInAll + chars > charsMax)) {
      this.#drop();
    }
    const at = (this.#first + this.#count) % countMax;
    this.#values[at] = value;
    this.#chars[at] = chars;
    this.#count++;
    this.#charsInAll += chars;
  }

  /** The newest first. */
  *newest(): Generator<T> {
    for (let i = this.#count - 1; i >= 0; i--) {
      yield this.#values[(this.#first + i) % this.#bounds.countMax] as T;
    }
  }

  #drop(): void {
    this.lastDropped = this.#values[this.#first];
    this.#values[this.#first] = undefined;
    this.#charsInAll -= this.#chars[this.#first];
    this.#first = (this.#first + 1) % this.#bounds.countMax;
    this.#count--;
  }
}
