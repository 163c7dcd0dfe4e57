// Lines that were written a moment ago. Within a second many callers have as much left as another one had, and
// are told the same. Putting the text together took a third of all memory that a request under one limit
// takes (bench http/node).

import type { LimitTexts } from "./limit.js";

/** What the lines of one form of the fields depend on. */
interface Written {
  texts: LimitTexts;
  remaining: number;
  seconds: number;
  wallSeconds: number;
  lines: string;
}

/** One for each of so many numbers in a row; numbers that are further apart take turns. */
const PLACES = 256;

/** The latest lines by the number of units left. */
export class LatestLines {
  readonly #places: (Written | undefined)[] = new Array(PLACES).fill(undefined);

  /** The lines that say this; undefined if they have to be written. */
  find(
    texts: LimitTexts,
    remaining: number,
    seconds: number,
    wallSeconds: number,
  ): string | undefined {
    const written = this.#places[remaining & (PLACES - 1)];
    if (written === undefined || written.remaining !== remaining) return undefined;
    const isThen = written.seconds === seconds && written.wallSeconds === wallSeconds;
    return isThen && written.texts === texts ? written.lines : undefined;
  }

  /** Keeps lines in place of older ones, in their object: a new one would cost more than this spares. */
  keep(
    texts: LimitTexts,
    remaining: number,
    seconds: number,
    wallSeconds: number,
    lines: string,
  ): void {
    const place = remaining & (PLACES - 1);
    const written = this.#places[place];
    if (written === undefined) {
      this.#places[place] = { texts, remaining, seconds, wallSeconds, lines };
      return;
    }
    written.texts = texts;
    written.remaining = remaining;
    written.seconds = seconds;
    written.wallSeconds = wallSeconds;
    written.lines = lines;
  }
}
