// Requests of lines that follow each other, as rows of numbers: each string is passed on once, and is the number of its
// place in a dictionary afterwards. So a thread can read lines for another one, which makes no objects for them either.

/** Rows of a batch at most. */
export const BATCH_ROWS = 2_048;

/** Numbers of a row in `words`: places of its request line and of its client in their dictionaries, and the status. */
export const [LINE, CLIENT, STATUS, ROW_WORDS] = [0, 1, 2, 3];

/** Facts that few lines have, each a column of `extras`. Columns of headers and attributes follow. */
export const EXTRA_FACTS = ["host", "user", "apiKey", "tenant", "tier", "forwardedFor"] as const;

/** Names of columns of `extras`. */
export interface ExtraNames {
  readonly headers: readonly string[];
  readonly attributes: readonly string[];
}

/** What was added to a dictionary. The first of a dictionary has place 1. */
export interface Added<T> {
  /** A new dictionary begins empty when the one before it is full. */
  readonly dictionary: number;
  readonly added: readonly T[];
}

/** A batch. */
export interface LineBatch {
  readonly rows: number;
  /** Bytes of a line, on average. */
  readonly lineBytes: number;
  readonly timesMs: Float64Array;
  readonly bodyBytes: Float64Array;
  readonly words: Int32Array;
  /** Places of strings, 0 for none; undefined if no row has any. */
  readonly extras: Int32Array | undefined;
  readonly names: ExtraNames;
  /** Methods and paths, with a space between them. */
  readonly lines: Added<string>;
  /** Addresses, those of IPv4 as numbers. */
  readonly clients: Added<string | number>;
  readonly strings: Added<string>;
}

/** The buffers of a batch, which another thread takes over. */
export function buffersOf({ timesMs, extras }: LineBatch): ArrayBuffer[] {
  const buffers = [timesMs.buffer as ArrayBuffer];
  return extras === undefined ? buffers : [...buffers, extras.buffer as ArrayBuffer];
}
