// A progress bar where errors go, on a terminal only.

import { readMs } from "../../base/clock.js";
import type { Terminal } from "./terminal.js";

const BAR_WIDTH_MAX = 40;
/** Between two drawings of the bar. */
const DRAW_MS = 100;

/** What is counted on the way to the end. */
export interface Progress {
  /** Undefined if it is not known, as of a pipe. */
  readonly total: number | undefined;
  /** In words, such as `450,000 of 1,000,000 entries`. */
  say(done: number, total: number | undefined): string;
}

/** Draws how far something is, a few times a second. */
export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #isShown: boolean;
  #done = 0;
  #drawnMs = 0;

  /** @param mayShow - False where what is printed and the bar would run into each other. Default true. */
  constructor(terminal: Terminal, progress: Progress, mayShow = true) {
    this.#terminal = terminal;
    this.#progress = progress;
    this.#isShown = mayShow && terminal.isErrorTty && progress.total !== 0;
  }

  /** Whether anything is drawn. */
  get isShown(): boolean {
    return this.#isShown;
  }

  add(amount: number): void {
    if (!this.#isShown) return;
    this.#done += amount;
    const nowMs = readMs();
    if (nowMs - this.#drawnMs < DRAW_MS) return;
    this.#drawnMs = nowMs;
    this.#draw(Math.min(this.#done, this.#progress.total ?? this.#done));
  }

  end(): void {
    if (!this.#isShown) return;
    this.#draw(this.#progress.total ?? this.#done);
    this.#terminal.writeError("\n");
  }

  /** Ends its line where it is, so that what went wrong is printed on a line of its own. */
  leave(): void {
    if (this.#drawnMs > 0) this.#terminal.writeError("\n");
  }

  #draw(done: number): void {
    const { columns } = this.#terminal.size();
    this.#terminal.writeError(`\r${formatProgress(done, this.#progress, columns)}`);
  }
}

/** `[#########-----------]  45%  450,000 of 1,000,000 entries`, no wider than a terminal. Only words without a total. */
export function formatProgress(done: number, { total, say }: Progress, columns: number): string {
  if (total === undefined) return say(done, total).slice(0, columns);
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const words = `${String(Math.floor(share * 100)).padStart(3)}%  ${say(done, total)}`;
  const width = Math.min(BAR_WIDTH_MAX, columns - words.length - 4);
  if (width < 5) return words.slice(0, columns);
  const filled = Math.round(share * width);
  return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${words}`;
}
