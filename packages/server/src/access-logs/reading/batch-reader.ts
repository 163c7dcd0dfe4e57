// Reads batches row by row, as entries that are filled in again for each.

import { LogEntry, RequestLine } from "../log-entry.js";
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

/** A dictionary where batches are read. It goes with the last batch that needs it. */
class Meanings<T> {
  readonly number: number;
  readonly values: (T | undefined)[] = [undefined];

  constructor(number: number) {
    this.number = number;
  }
}

/** A batch, with what its numbers stand for. */
export interface OpenBatch extends LineBatch {
  readonly lineOf: readonly (RequestLine | undefined)[];
  readonly clientOf: readonly (string | number | undefined)[];
  readonly stringOf: readonly (string | undefined)[];
  readonly clientNotes: Int32Array;
}

/** Opens batches, in the order in which they were written. */
export class BatchReader {
  #lines = new Meanings<RequestLine>(-1);
  #clients = new Meanings<string | number>(-1);
  #strings = new Meanings<string>(-1);
  #clientNotes = new Int32Array(0);
  readonly #plain = new LogEntry();
  readonly #full = new LogEntry();

  /** Takes over what a batch adds to dictionaries. */
  open(batch: LineBatch): OpenBatch {
    const { lines, clients, strings } = batch;
    if (clients.dictionary !== this.#clients.number)
      this.#clientNotes = new Int32Array(2 * (PLACES_MAX + BATCH_ROWS));
    this.#lines = addTo(this.#lines, lines, toRequestLine);
    this.#clients = addTo(this.#clients, clients, (client) => client);
    this.#strings = addTo(this.#strings, strings, (text) => text);
    return {
      ...batch,
      lineOf: this.#lines.values,
      clientOf: this.#clients.values,
      stringOf: this.#strings.values,
      clientNotes: this.#clientNotes,
    };
  }

  /** A row as an entry, which is filled in again for the next. */
  entryAt(batch: OpenBatch, row: number): LogEntry {
    const entry = batch.extras === undefined ? this.#plain : this.#withExtras(batch, row);
    const { words } = batch;
    const at = row * ROW_WORDS;
    const place = words[at + CLIENT];
    const client = batch.clientOf[place];
    const isIpv4 = typeof client === "number";
    entry.line = batch.lineOf[words[at + LINE]];
    entry.ipv4 = isIpv4 ? client : Number.NaN;
    entry.ip = isIpv4 ? undefined : client;
    entry.client = place;
    entry.clientNotes = batch.clientNotes;
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

const NONE = new Int32Array(0);

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
