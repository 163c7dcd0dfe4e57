// A screen that is redrawn again and again: on a terminal in place, in its alternate screen, so that the earlier
// content comes back at the end; elsewhere one frame after the other.

import type { Terminal } from "./terminal.js";

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

/** Draws frames until it is closed. */
export class Screen {
  readonly #terminal: Terminal;
  #isOpen = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows these lines, and nothing of the frame before. */
  draw(lines: readonly string[]): void {
    if (!this.#terminal.isTty) {
      this.#terminal.write(`${lines.join("\n")}\n\n`);
      return;
    }
    const enter = this.#isOpen ? "" : ENTER;
    this.#isOpen = true;
    // No line end after the last line: it would scroll a full screen.
    const text = lines.map((line) => `${line}${CLEAR_LINE}`).join("\r\n");
    this.#terminal.write(`${enter}${HOME}${text}${CLEAR_BELOW}`);
  }

  /** Gives the terminal back as it was; once is enough. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#terminal.write(LEAVE);
  }
}
