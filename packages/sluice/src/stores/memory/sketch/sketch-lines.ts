// A Count-Min sketch with conservative update, in lines of 64 cells. A key has one line, and in it one cell in each
// row, so a look-up of 8-bit cells is one cache line. The count of a key is the smallest of its cells. To count is to
// raise the cells that are lower than the new count, and no others. A line begins with the number of the window that
// it counts: one with another number is empty, so the end of a window clears nothing.

import { CELLS_PER_LINE, type SketchSize } from "../../../algorithms/sketch-size.js";

/** Two units in front of the cells hold the stamp of the window, a byte each. */
const STAMP_UNITS = 2;
const UNITS_PER_LINE = STAMP_UNITS + CELLS_PER_LINE;
/** The largest stamp. After that many windows the lines are cleared, and stamps start again. */
const STAMP_MAX = 0xffff;

export class SketchLines {
  readonly #units: Uint8Array | Uint16Array | Uint32Array;
  readonly #lines: number;
  readonly #rows: number;
  readonly #cellsPerRow: number;
  readonly #cellMax: number;
  /** The stamp of the current window. 0 is that of a line never written. */
  #stamp = 1;
  /** Cells that are not 0 in the current window. */
  #cellsUsed = 0;
  /** The cells of the key that was found last. */
  readonly #found: Int32Array;

  constructor({ lines, rows, cellBits }: SketchSize) {
    const units = lines * UNITS_PER_LINE;
    this.#units =
      cellBits === 8
        ? new Uint8Array(units)
        : cellBits === 16
          ? new Uint16Array(units)
          : new Uint32Array(units);
    this.#lines = lines;
    this.#rows = rows;
    this.#cellsPerRow = Math.floor(CELLS_PER_LINE / rows);
    this.#cellMax = 2 ** cellBits - 1;
    this.#found = new Int32Array(rows);
  }

  get bytes(): number {
    return this.#units.byteLength;
  }

  /** The share of all cells that are in use in the current window. */
  get fill(): number {
    return this.#cellsUsed / (this.#lines * this.#rows * this.#cellsPerRow);
  }

  /** Distinguishes the current window from the {@link STAMP_MAX} before it. */
  get stamp(): number {
    return this.#stamp;
  }

  /** Starts a window with all counts 0. Returns whether stamps started again. */
  startWindow(): boolean {
    this.#cellsUsed = 0;
    this.#stamp++;
    if (this.#stamp <= STAMP_MAX) return false;
    this.#units.fill(0);
    this.#stamp = 1;
    return true;
  }

  /**
   * The count of a key by its fingerprint: never less than it was raised to in this window. {@link raise} is about the
   * key that was found last.
   */
  find(high: number, low: number): number {
    const units = this.#units;
    const found = this.#found;
    const rows = this.#rows;
    const cellsPerRow = this.#cellsPerRow;
    const line = this.#lineOf(high);
    let mix = firstMix(high, low);
    let least = this.#cellMax;
    for (let i = 0, row = line + STAMP_UNITS; i < rows; i++, row += cellsPerRow) {
      mix = nextMix(mix);
      const cell = row + cellOf(mix, cellsPerRow);
      const count = units[cell];
      found[i] = cell;
      if (count < least) least = count;
    }
    return this.#isCurrent(line) ? least : 0;
  }

  /** Makes the count of the key that was found last at least this; beyond the width of a cell, its largest value. */
  raise(to: number): void {
    const units = this.#units;
    const found = this.#found;
    const count = Math.min(to, this.#cellMax);
    const line = found[0] - (found[0] % UNITS_PER_LINE);
    if (!this.#isCurrent(line)) this.#startLine(line);
    for (let i = 0; i < found.length; i++) {
      const cell = found[i];
      const before = units[cell];
      if (before >= count) continue;
      if (before === 0) this.#cellsUsed++;
      units[cell] = count;
    }
  }

  /** Whether a line counts the current window. */
  #isCurrent(line: number): boolean {
    const stamp = this.#stamp;
    return this.#units[line] === (stamp & 0xff) && this.#units[line + 1] === stamp >>> 8;
  }

  #startLine(line: number): void {
    this.#units.fill(0, line, line + UNITS_PER_LINE);
    this.#units[line] = this.#stamp & 0xff;
    this.#units[line + 1] = this.#stamp >>> 8;
  }

  /** Where the line of a fingerprint begins. */
  #lineOf(high: number): number {
    return Math.floor((high >>> 0) * 2 ** -32 * this.#lines) * UNITS_PER_LINE;
  }
}

// The upper bits of `high` choose the line, so the cells need what is below them, and `low`.
function firstMix(high: number, low: number): number {
  return Math.imul(high ^ Math.imul(low, 0x9e3779b1), 0x85ebca6b);
}

function nextMix(mix: number): number {
  return Math.imul(mix ^ (mix >>> 15), 0x2c1b3c6d);
}

function cellOf(mix: number, cellsPerRow: number): number {
  return Math.floor((mix >>> 0) * 2 ** -32 * cellsPerRow);
}
