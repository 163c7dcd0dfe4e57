// Reads batches row by row, as entries that are filled in again for each.

import { type ClientList, type LineList, LogEntry, RequestLine } from "../log-entry.js";
import { PLACES_MAX } from "./dictionary.js";
import {
  type Added,
  BATCH_ROWS,
  CLIENT,
  EXTRA_FACTS,
  LINE,
  type LineBatch,
  ROW_WORDS,
  STATUS,
} from "./line-batch.js";

const NONE = new Int32Array(0);

/** A dictionary, where batches are read. It is freed with the last batch that needs it. */
class Meanings<T> {
  readonly number: number;
  readonly values: (T | undefined)[] = [undefined];

  constructor(number: number) {
    this.number = number;
  }
}

/** A batch, with what its numbers stand for. */
export interface OpenBatch extends LineBatch {
  readonly lineList: LineList;
  readonly clientList: ClientList;
  readonly stringOf: readonly (string | undefined)[];
}

/** Opens batches, in the order in which they were written. */
export class BatchReader {
  #lines = new Meanings<RequestLine>(-1);
  #clients = new Meanings<string | number>(-1);
  #strings = new Meanings<string>(-1);
  #lineList: LineList = { lines: [], notes: [] };
  #clientList: ClientList = { addresses: [], notes: NONE };
  readonly #plain = new LogEntry();
  readonly #full = new LogEntry();

  /** Takes over what a batch adds to dictionaries. */
  open(batch: LineBatch): OpenBatch {
    const { lines, clients, strings } = batch;
    const known = this.#clients;
    this.#clients = addTo(known, clients, (client) => client);
    if (this.#clients !== known) {
      const notes = new Int32Array(2 * (PLACES_MAX + BATCH_ROWS));
      this.#clientList = { addresses: this.#clients.values, notes };
    }
    const knownLines = this.#lines;
    this.#lines = addTo(knownLines, lines, toRequestLine);
    if (this.#lines !== knownLines) this.#lineList = { lines: this.#lines.values, notes: [] };
    const { notes } = this.#lineList;
    while (notes.length < this.#lines.values.length) notes.push(undefined);
    this.#strings = addTo(this.#strings, strings, (text) => text);
    return {
      ...batch,
      lineList: this.#lineList,
      clientList: this.#clientList,
      stringOf: this.#strings.values,
    };
  }

  /** A row as an entry, which is filled in again for the next. */
  entryAt(batch: OpenBatch, row: number): LogEntry {
    const entry = batch.extras === undefined ? this.#plain : this.#withExtras(batch, row);
    const { words } = batch;
    const at = row * ROW_WORDS;
    entry.lineAt = words[at + LINE];
    entry.lines = batch.lineList;
    entry.client = words[at + CLIENT];
    entry.clients = batch.clientList;
    entry.status = words[at + STATUS];
    entry.bodyBytes = batch.bodyBytes[row];
    entry.atMs = batch.timesMs[row];
    return entry;
  }

  #withExtras(batch: OpenBatch, row: number): LogEntry {
    const entry = this.#full;
    const { extras = NONE, names, stringOf } = batch;
    const { headers, attributes } = names;
    let at = row * (EXTRA_FACTS.length + headers.length + attributes.length);
    for (const fact of EXTRA_FACTS) entry[fact] = stringOf[extras[at++]];
    const toRecord = (keys: readonly string[]) => {
      if (keys.length === 0) return undefined;
      const found: Record<string, string | undefined> = {};
      for (const key of keys) found[key] = stringOf[extras[at++]];
      return found;
    };
    entry.headers = toRecord(headers);
    entry.attributes = toRecord(attributes);
    return entry;
  }
}

function addTo<T, From>(
  meanings: Meanings<T>,
  { dictionary, added }: Added<From>,
  toMeaning: (from: From) => T,
): Meanings<T> {
  const all = dictionary === meanings.number ? meanings : new Meanings<T>(dictionary);
  for (const each of added) all.values.push(toMeaning(each));
  return all;
}

function toRequestLine(text: string): RequestLine {
  const end = text.indexOf(" ");
  return new RequestLine(text.slice(0, end), text.slice(end + 1));
}
