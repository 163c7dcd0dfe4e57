// How large a sketch has to be for the error that its user allows. A key has one line of 62 cells, the line is divided
// into rows, and the key has one cell in each row. The count of a key is the smallest of its cells, so an over-count needs
// a collision in every row of the line.

/** Cells of a line that count; two more hold the number of the window. */
export const CELLS_PER_LINE = 62;

/** With more rows than that, each row has too few cells to gain anything. */
const ROWS_MAX = 8;
/** How often the search for the load halves its interval: to the last digit of a double. */
const HALVINGS = 60;

/** How the counters of a sketch are laid out. */
export interface SketchSize {
  readonly lines: number;
  readonly rows: number;
  /** The width of a cell: wide enough for the limit. */
  readonly cellBits: 8 | 16 | 32;
}

/** What a sketch has to promise. */
export interface SketchPromise {
  readonly limit: number;
  /** The over-count of a key is at most this share of all units of the window … */
  readonly errorShare: number;
  /** … with this probability. */
  readonly confidence: number;
}

/**
 * The smallest layout that keeps a promise for every traffic. With `lines` lines, and rows of `c` cells, a key is
 * over-counted by more than `errorShare` of all units with a probability of at most
 * `T(1 / (errorShare × lines)) / c^rows`, where `T(y)` is the moment of order `rows` of a Poisson distribution with
 * the mean `y`. The reasons: stores/memory/sketch/README.md.
 */
export function sketchSizeFor({ limit, errorShare, confidence }: SketchPromise): SketchSize {
  let best = { lines: Number.POSITIVE_INFINITY, rows: 1 };
  for (let rows = 1; rows <= ROWS_MAX; rows++) {
    const load = largestLoad(rows, confidence);
    const lines = Math.max(1, Math.ceil(1 / (errorShare * load)));
    if (lines < best.lines) best = { lines, rows };
  }
  return { ...best, cellBits: limit <= 0xff ? 8 : limit <= 0xffff ? 16 : 32 };
}

/** The bytes of that many lines. */
export function sketchBytes({ lines, cellBits }: Pick<SketchSize, "lines" | "cellBits">): number {
  return lines * (CELLS_PER_LINE + 2) * (cellBits / 8);
}

/** The largest mean of a Poisson distribution whose moment keeps the confidence. */
function largestLoad(rows: number, confidence: number): number {
  const momentMax = (1 - confidence) * Math.floor(CELLS_PER_LINE / rows) ** rows;
  let [low, high] = [0, momentMax];
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (poissonMoment(rows, middle) <= momentMax) low = middle;
    else high = middle;
  }
  return low;
}

/** The moment of that order of a Poisson distribution: E[K^order]. */
export function poissonMoment(order: number, mean: number): number {
  // E[K^(n+1)] = mean × Σ choose(n, k) E[K^k]
  const moments = [1];
  for (let n = 0; n < order; n++) {
    let sum = 0;
    let choose = 1;
    for (let k = 0; k <= n; k++) {
      sum += choose * moments[k];
      choose = (choose * (n - k)) / (k + 1);
    }
    moments.push(mean * sum);
  }
  return moments[order];
}
