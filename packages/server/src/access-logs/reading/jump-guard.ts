// Keeps one line with a time in the far future from making all lines after it late: a jump forward counts once a line after
// it confirms the new time. Until then the lines wait, and pass in the order in which they came.

/** The smallest jump forward that is doubted, unless the window of lines out of order is larger. */
const JUMP_MS_MIN = 10_000;
/** Lines of the old time that refute a jump. Lines that come late after a pause are fewer. */
const LINES_AGAINST = 8;

/** Doubts lines whose times jump forward. */
export class JumpGuard {
  /** Lines whose jump was refuted. */
  refuted = 0;
  readonly #jumpMs: number;
  readonly #pass: (place: number, atMs: number) => void;
  #newestMs = Number.NEGATIVE_INFINITY;
  #isDoubting = false;
  /** The line that jumped, and those of the old time that came after it. */
  #places: number[] = [];
  #timesMs: number[] = [];

  /** @param pass - Called with each line, and its time; if its jump was refuted, the time of the newest line before it. */
  constructor(windowMs: number, pass: (place: number, atMs: number) => void) {
    this.#jumpMs = Math.max(JUMP_MS_MIN, windowMs);
    this.#pass = pass;
  }

  /** Lets the next line pass, or keeps it until more is known. */
  pass(place: number, atMs: number): void {
    if (this.#isDoubting) this.#weigh(atMs);
    if (this.#isDoubting || atMs > this.#newestMs + this.#jumpMs) {
      this.#isDoubting = true;
      this.#places.push(place);
      this.#timesMs.push(atMs);
      return;
    }
    if (atMs > this.#newestMs) this.#newestMs = atMs;
    this.#pass(place, atMs);
  }

  /** Lets all lines pass. A jump at the very end counts. */
  end(): void {
    if (this.#isDoubting) this.#settle(this.#places.length === 1);
  }

  /** Settles the jump before a line if the line confirms or refutes it. */
  #weigh(atMs: number): void {
    const [jumpedToMs] = this.#timesMs;
    if (atMs >= jumpedToMs - this.#jumpMs) this.#settle(true);
    else if (this.#places.length >= LINES_AGAINST || this.#isJump(atMs)) this.#settle(false);
  }

  /** A second jump, to an earlier time, refutes the first. Not that of the very first line, which nothing came before. */
  #isJump(atMs: number): boolean {
    return this.#newestMs >= 0 && atMs > this.#newestMs + this.#jumpMs;
  }

  #settle(isTrue: boolean): void {
    const [places, timesMs] = [this.#places, this.#timesMs];
    this.#isDoubting = false;
    this.#places = [];
    this.#timesMs = [];
    if (isTrue) this.#newestMs = timesMs[0];
    else {
      this.refuted++;
      timesMs[0] = this.#newestMs >= 0 ? this.#newestMs : timesMs[1];
    }
    for (const [at, place] of places.entries()) this.#pass(place, timesMs[at]);
    for (const atMs of timesMs) this.#newestMs = Math.max(this.#newestMs, atMs);
  }
}
