// Requests of lines that follow each other, as rows of numbers: each string is passed on once, and is the number of its
// place in a dictionary afterwards. So a thread can read lines for another one, which makes no objects for them either.

/** Rows of a batch at most. */
export const BATCH_ROWS = 2_048;

/** Numbers of a row in `words`: request line, client, notes, and bytes of the line. */
export const [LINE, CLIENT, NOTES, LINE_BYTES, ROW_WORDS] = [0, 1, 2, 3, 4];
/** The notes are the status, and this bit if the client is an IPv4 address and not the number of a string. */
export const IPV4_NOTE = 1 << 16;
export const STATUS_MASK = 0xffff;

/** Facts that few lines have, each a column of `extras`. Columns of headers and attributes follow. */
export const EXTRA_FACTS = ["host", "user", "apiKey", "tenant", "tier", "forwardedFor"] as const;

/** Names of columns of `extras`. */
export interface ExtraNames {
  readonly headers: readonly string[];
  readonly attributes: readonly string[];
}

/** A batch. */
export interface LineBatch {
  readonly rows: number;
  readonly timesMs: Float64Array;
  readonly bodyBytes: Float64Array;
  readonly words: Int32Array;
  /** Numbers of strings, 0 for none; undefined if no row has any. */
  readonly extras: Int32Array | undefined;
  readonly names: ExtraNames;
  /** The dictionary that the numbers are places in. A new one begins empty when the one before it is full. */
  readonly dictionary: number;
  /** Strings that were added to it; the first of a dictionary has number 1. */
  readonly newStrings: readonly string[];
  /** Methods and paths that were added, by turns; the first pair of a dictionary has number 0. */
  readonly newLines: readonly string[];
}

/** The buffers of a batch, which another thread takes over. */
export function buffersOf({ timesMs, extras }: LineBatch): ArrayBuffer[] {
  const buffers = [timesMs.buffer as ArrayBuffer];
  return extras === undefined ? buffers : [...buffers, extras.buffer as ArrayBuffer];
}
