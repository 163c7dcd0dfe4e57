// Writes entries into batches.

import type { LogEntry } from "../log-entry.js";
import { Dictionary } from "./dictionary.js";
import {
  BATCH_ROWS,
  CLIENT,
  EXTRA_FACTS,
  type ExtraNames,
  LINE,
  type LineBatch,
  ROW_WORDS,
  STATUS,
} from "./line-batch.js";

/** Characters that one batch adds to dictionaries at most, but for its last line. */
const BATCH_CHARACTERS_MAX = 524_288;
/** More than the places of a dictionary. */
const SERIALS = 2 ** 20;

/** Writes the lines of one log after another. */
export class BatchWriter {
  /** Batches that have ended. OpenLog takes them and empties the list. */
  ready: LineBatch[] = [];
  #names: ExtraNames = { headers: [], attributes: [] };
  readonly #lines = new Dictionary<string>();
  readonly #clients = new Dictionary<string | number>();
  readonly #strings = new Dictionary<string>();
  #rows = 0;
  #lineBytes = 0;
  #timesMs!: Float64Array;
  #bodyBytes!: Float64Array;
  #words!: Int32Array;
  #extras: Int32Array | undefined;

  constructor() {
    this.#begin();
  }

  /** Names the columns of lines from now on. */
  name(names: ExtraNames): void {
    this.flush();
    this.#names = names;
  }

  /** Adds the request of a line of so many bytes. */
  add(entry: LogEntry, lineBytes: number): void {
    const row = this.#rows++;
    const words = this.#words;
    const at = row * ROW_WORDS;
    this.#lineBytes += lineBytes;
    this.#timesMs[row] = entry.atMs;
    this.#bodyBytes[row] = entry.bodyBytes;
    words[at + LINE] = this.#placeOfLine(entry);
    words[at + CLIENT] = this.#placeOfClient(entry);
    words[at + STATUS] = entry.status;
    if (!entry.isPlain) this.#addExtras(entry, row);
    if (row + 1 === BATCH_ROWS || this.#addedCharacters >= BATCH_CHARACTERS_MAX) this.flush();
  }

  /** Ends the batch that is being written. */
  flush(): void {
    const rows = this.#rows;
    if (rows === 0) return;
    this.ready.push({
      rows,
      lineBytes: this.#lineBytes / rows,
      timesMs: this.#timesMs,
      bodyBytes: this.#bodyBytes,
      words: this.#words,
      extras: this.#extras,
      names: this.#names,
      lines: this.#lines.endBatch(),
      clients: this.#clients.endBatch(),
      strings: this.#strings.endBatch(),
    });
    this.#begin();
  }

  #begin(): void {
    const buffer = new ArrayBuffer(BATCH_ROWS * (2 * 8 + ROW_WORDS * 4));
    this.#timesMs = new Float64Array(buffer, 0, BATCH_ROWS);
    this.#bodyBytes = new Float64Array(buffer, BATCH_ROWS * 8, BATCH_ROWS);
    this.#words = new Int32Array(buffer, BATCH_ROWS * 16, BATCH_ROWS * ROW_WORDS);
    this.#extras = undefined;
    this.#rows = 0;
    this.#lineBytes = 0;
  }

  get #addedCharacters(): number {
    const { addedCharacters } = this.#lines;
    return addedCharacters + this.#clients.addedCharacters + this.#strings.addedCharacters;
  }

  #placeOfLine({ line, method, path }: LogEntry): number {
    if (line === undefined) return this.#lines.placeOf(`${method} ${path}`);
    // Places in dictionaries before this one are smaller.
    const firstSerial = this.#lines.number * SERIALS;
    if (line.serial < firstSerial)
      line.serial = firstSerial + this.#lines.placeOf(`${line.method} ${line.path}`);
    return line.serial - firstSerial;
  }

  #placeOfClient({ ipv4, ip = "" }: LogEntry): number {
    return Number.isNaN(ipv4) ? this.#clients.placeOf(ip) : this.#clients.placeOfAddress(ipv4);
  }

  #addExtras(entry: LogEntry, row: number): void {
    const { headers, attributes } = this.#names;
    const width = EXTRA_FACTS.length + headers.length + attributes.length;
    this.#extras ??= new Int32Array(BATCH_ROWS * width);
    const extras = this.#extras;
    let at = row * width;
    const put = (text: string | undefined) => {
      extras[at++] = text === undefined ? 0 : this.#strings.placeOf(text);
    };
    for (const fact of EXTRA_FACTS) put(entry[fact]);
    for (const name of headers) put(entry.headers?.[name]);
    for (const name of attributes) put(entry.attributes?.[name]);
  }
}
