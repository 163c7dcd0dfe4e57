// Reads batches row by row, as entries that are filled in again for each.

import { LogEntry, RequestLine } from "../log-entry.js";
import {
  CLIENT,
  EXTRA_FACTS,
  IPV4_NOTE,
  LINE,
  type LineBatch,
  NOTES,
  ROW_WORDS,
  STATUS_MASK,
} from "./line-batch.js";

/** What numbers of batches stand for. */
interface Dictionary {
  readonly number: number;
  readonly strings: (string | undefined)[];
  readonly lines: RequestLine[];
}

/** A batch with its dictionary, which goes with the last batch that needs it. */
export interface OpenBatch extends LineBatch {
  readonly meanings: Dictionary;
}

/** Opens batches, in the order in which they were written. */
export class BatchReader {
  #dictionary: Dictionary = { number: -1, strings: [], lines: [] };
  readonly #plain = new LogEntry();
  readonly #full = new LogEntry();

  /** Takes over the strings of a batch. */
  open(batch: LineBatch): OpenBatch {
    const { dictionary: number, newStrings, newLines } = batch;
    if (number !== this.#dictionary.number)
      this.#dictionary = { number, strings: [undefined], lines: [] };
    const { strings, lines } = this.#dictionary;
    for (const text of newStrings) strings.push(text);
    for (let at = 0; at < newLines.length; at += 2)
      lines.push(new RequestLine(newLines[at], newLines[at + 1]));
    return { ...batch, meanings: this.#dictionary };
  }

  /** A row as an entry, which is filled in again for the next. */
  entryAt(batch: OpenBatch, row: number): LogEntry {
    const { strings, lines } = batch.meanings;
    const entry = batch.extras === undefined ? this.#plain : this.#withExtras(batch, row);
    const { words } = batch;
    const at = row * ROW_WORDS;
    const notes = words[at + NOTES];
    const client = words[at + CLIENT];
    const isIpv4 = (notes & IPV4_NOTE) !== 0;
    entry.line = lines[words[at + LINE]];
    entry.ipv4 = isIpv4 ? client : Number.NaN;
    entry.ip = isIpv4 ? undefined : strings[client];
    entry.status = notes & STATUS_MASK;
    entry.bodyBytes = batch.bodyBytes[row];
    entry.atMs = batch.timesMs[row];
    return entry;
  }

  #withExtras({ extras = new Int32Array(0), names, meanings }: OpenBatch, row: number): LogEntry {
    const entry = this.#full;
    const { strings } = meanings;
    const { headers, attributes } = names;
    let at = row * (EXTRA_FACTS.length + headers.length + attributes.length);
    for (const fact of EXTRA_FACTS) entry[fact] = strings[extras[at++]];
    const toRecord = (keys: readonly string[]) => {
      if (keys.length === 0) return undefined;
      const found: Record<string, string | undefined> = {};
      for (const key of keys) found[key] = strings[extras[at++]];
      return found;
    };
    entry.headers = toRecord(headers);
    entry.attributes = toRecord(attributes);
    return entry;
  }
}
