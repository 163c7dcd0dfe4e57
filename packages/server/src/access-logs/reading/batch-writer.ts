// Writes entries into batches. The dictionary of a batch is bounded in strings and in characters, and starts again when it
// is full: what clients can choose, such as paths, may be different in every line.

import { type LogEntry, RequestLine } from "../log-entry.js";
import {
  BATCH_ROWS,
  CLIENT,
  EXTRA_FACTS,
  type ExtraNames,
  IPV4_NOTE,
  LINE,
  LINE_BYTES,
  type LineBatch,
  NOTES,
  ROW_WORDS,
} from "./line-batch.js";

/** Places of a dictionary, for strings and for request lines each, beyond which the next batch starts another one. */
const PLACES_MAX = 32_768;
/** Characters of a dictionary, in the same way, and those that one batch adds to it. */
const CHARACTERS_MAX = 2_097_152;
const BATCH_CHARACTERS_MAX = 524_288;
/** Serial numbers of one dictionary: more than a batch can add to a full one. */
const SERIALS = 2 ** 20;

/** Writes the lines of one log after another. */
export class BatchWriter {
  /** Batches that are full. Whoever takes them away empties the list. */
  ready: LineBatch[] = [];
  #names: ExtraNames = { headers: [], attributes: [] };
  #dictionary = 0;
  #firstSerial = 0;
  readonly #strings = new Map<string, number>();
  readonly #linesByText = new Map<string, RequestLine>();
  #lineCount = 0;
  #characters = 0;
  #newStrings: string[] = [];
  #newLines: string[] = [];
  #newCharacters = 0;
  #rows = 0;
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
    const row = this.#rows;
    const { ipv4, status } = entry;
    const isIpv4 = !Number.isNaN(ipv4);
    const words = this.#words;
    const at = row * ROW_WORDS;
    this.#timesMs[row] = entry.atMs;
    this.#bodyBytes[row] = entry.bodyBytes;
    words[at + LINE] = this.#lineOf(entry);
    words[at + CLIENT] = isIpv4 ? ipv4 : this.#stringOf(entry.ip);
    words[at + NOTES] = isIpv4 ? status | IPV4_NOTE : status;
    words[at + LINE_BYTES] = lineBytes;
    if (!entry.isPlain) this.#addExtras(entry, row);
    this.#rows = row + 1;
    if (row + 1 === BATCH_ROWS || this.#newCharacters >= BATCH_CHARACTERS_MAX) this.flush();
  }

  /** Ends the batch that is being written. */
  flush(): void {
    if (this.#rows === 0) return;
    this.ready.push({
      rows: this.#rows,
      timesMs: this.#timesMs,
      bodyBytes: this.#bodyBytes,
      words: this.#words,
      extras: this.#extras,
      names: this.#names,
      dictionary: this.#dictionary,
      newStrings: this.#newStrings,
      newLines: this.#newLines,
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
    this.#newStrings = [];
    this.#newLines = [];
    this.#characters += this.#newCharacters;
    this.#newCharacters = 0;
    const places = Math.max(this.#strings.size, this.#lineCount);
    if (places >= PLACES_MAX || this.#characters >= CHARACTERS_MAX) this.#startDictionary();
  }

  #startDictionary(): void {
    this.#dictionary++;
    this.#firstSerial += SERIALS;
    this.#strings.clear();
    this.#linesByText.clear();
    this.#lineCount = 0;
    this.#characters = 0;
  }

  #lineOf(entry: LogEntry): number {
    const line = entry.line ?? this.#findLine(entry);
    // Those of dictionaries before this one are smaller.
    const known = line.serial - this.#firstSerial;
    return known >= 0 ? known : this.#addLine(line);
  }

  #findLine({ method, path }: LogEntry): RequestLine {
    const text = `${method} ${path}`;
    let line = this.#linesByText.get(text);
    if (line === undefined) {
      line = new RequestLine(method, path);
      this.#linesByText.set(text, line);
    }
    return line;
  }

  #addLine(line: RequestLine): number {
    const number = this.#lineCount++;
    line.serial = this.#firstSerial + number;
    this.#newLines.push(line.method, line.path);
    this.#newCharacters += line.path.length;
    return number;
  }

  #stringOf(text: string | undefined): number {
    if (text === undefined) return 0;
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    const number = this.#strings.size + 1;
    this.#strings.set(text, number);
    this.#newStrings.push(text);
    this.#newCharacters += text.length;
    return number;
  }

  #addExtras(entry: LogEntry, row: number): void {
    const { headers, attributes } = this.#names;
    const width = EXTRA_FACTS.length + headers.length + attributes.length;
    this.#extras ??= new Int32Array(BATCH_ROWS * width);
    let at = row * width;
    for (const fact of EXTRA_FACTS) this.#extras[at++] = this.#stringOf(entry[fact]);
    for (const name of headers) this.#extras[at++] = this.#stringOf(entry.headers?.[name]);
    for (const name of attributes) this.#extras[at++] = this.#stringOf(entry.attributes?.[name]);
  }
}
