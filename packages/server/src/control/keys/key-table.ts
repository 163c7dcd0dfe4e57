// The API keys that a node knows, in typed arrays: about a hundred bytes for each (bench control/key-bytes). Keys are
// rows, found by their id in a table of slots with linear probing. What only people read of a key, such as its name,
// stays in the database.

import type { FillRandom } from "../credentials/secret-format.js";
import type { EntityBody } from "../entities/entities.js";
import { Interned } from "./interned.js";
import {
  COUNTED_AS,
  EXPIRES,
  HASH_BYTES,
  hashOfWords,
  ID,
  ID_LENGTH,
  LAST_USE,
  moveRow,
  PRINT_HIGH,
  PRINT_LOW,
  SCOPES,
  TENANT,
  toColumns,
  WIDTH,
  wordAt,
} from "./key-columns.js";
import { KeyFingerprint } from "./key-fingerprint.js";

/** Where an id stands in a key as it is sent: `slk_<id>_<secret>_<checksum>`. */
const ID_FROM = 4;
/** The length of a key as it is sent. */
export const SENT_LENGTH = 56;
const ROWS_MIN = 64;
const GROWTH = 1.25;
/** Slots are at least so many times the rows. */
const SLOTS_PER_ROW = 1.4;
const ID_SHAPE = /^[0-9A-Za-z]{12}$/;
const HASH_SHAPE = /^[0-9a-f]{64}$/;

/** The id in a key as it was sent. */
export function idIn(sent: string): string {
  return sent.slice(ID_FROM, ID_FROM + ID_LENGTH);
}

/** A row that is not there. */
export const NO_ROW = -1;

/** What nodes know of a key. */
export interface KeyBody extends EntityBody {
  readonly tenant: string;
  readonly scopes: readonly string[];
  /** SHA-256 of the key, in hexadecimal. */
  readonly hash: string;
  readonly expiresAtMs?: number;
  /** The first key of a chain of rotations, if it is not this one. */
  readonly countedAs?: string;
}

/** Of a key that has none. */
export const NO_SCOPES: readonly string[] = [];

/** Keys by id. Rows are valid until the next change. */
export class KeyTable {
  #size = 0;
  #columns = toColumns(0);
  /** Rows plus one; 0 is empty. */
  #slots = new Uint32Array(1);
  #strings = new Interned();
  readonly #fingerprint: KeyFingerprint;

  /** @param fillRandom - What fingerprints are drawn from. */
  constructor(fillRandom: FillRandom) {
    this.#fingerprint = new KeyFingerprint(SENT_LENGTH, fillRandom);
  }

  /** How many keys there are. */
  get size(): number {
    return this.#size;
  }

  /** What its arrays take; names of tenants and lists of scopes come on top, each once. */
  get bytes(): number {
    let bytes = this.#slots.byteLength;
    for (const { byteLength } of Object.values(this.#columns)) bytes += byteLength;
    return bytes;
  }

  /** Forgets all keys. */
  clear(): void {
    this.#size = 0;
    this.#columns = toColumns(0);
    this.#slots = new Uint32Array(1);
    this.#strings = new Interned();
  }

  /** Makes room for so many keys in all. */
  reserve(keys: number): void {
    if (keys > this.#columns.sequences.length) this.#resize(keys);
  }

  /** Adds a key or replaces it. False if it is not one: an id or a hash of another form. */
  set(id: string, sequence: number, body: EntityBody): boolean {
    const { tenant, hash, scopes, expiresAtMs, countedAs } = body as Partial<KeyBody>;
    if (!ID_SHAPE.test(id) || typeof hash !== "string" || !HASH_SHAPE.test(hash)) return false;
    let row = this.find(id);
    if (row === NO_ROW) row = this.#addRow(id);
    else this.#release(row);
    const { hot, hashes, expiries, sequences } = this.#columns;
    const at = row * WIDTH;
    const list = Array.isArray(scopes) && scopes.length > 0 ? scopes : undefined;
    const expires = typeof expiresAtMs === "number";
    hashes.set(Buffer.from(hash, "hex"), row * HASH_BYTES);
    hot[at + TENANT] = this.#strings.add(String(tenant ?? ""));
    hot[at + SCOPES] = list === undefined ? 0 : this.#strings.add(JSON.stringify(list));
    hot[at + COUNTED_AS] = countedAs === undefined ? 0 : this.#strings.add(String(countedAs));
    hot[at + EXPIRES] = expires ? 1 : 0;
    hot[at + PRINT_LOW] = 0;
    hot[at + PRINT_HIGH] = 0;
    expiries[row] = expires ? expiresAtMs : Number.POSITIVE_INFINITY;
    sequences[row] = sequence;
    return true;
  }

  /** Removes a key. Returns whether it was there. */
  delete(id: string): boolean {
    const row = this.find(id);
    if (row === NO_ROW) return false;
    this.#release(row);
    this.#freeSlot(this.#slotOf(row));
    const last = --this.#size;
    if (row !== last) {
      this.#slots[this.#slotOf(last)] = row + 1;
      moveRow(this.#columns, last, row);
    }
    return true;
  }

  /** The row of an id. */
  find(id: string): number {
    return id.length === ID_LENGTH ? this.#find(id, 0) : NO_ROW;
  }

  /** The row of the id in a key as it was sent. Says nothing about its secret. */
  findSent(sent: string): number {
    return sent.length === SENT_LENGTH ? this.#find(sent, ID_FROM) : NO_ROW;
  }

  /**
   * Whether the key that was sent is one that was verified before: true or false if that is known, undefined if the key
   * of this row was not verified yet.
   */
  isVerified(row: number, sent: string): boolean | undefined {
    const { hot } = this.#columns;
    const high = hot[row * WIDTH + PRINT_HIGH] as number;
    if (high === 0) return undefined;
    const fingerprint = this.#fingerprint;
    if (!fingerprint.read(sent) || high !== fingerprint.high) return false;
    return hot[row * WIDTH + PRINT_LOW] === fingerprint.low;
  }

  /** Remembers the key that was sent, whose SHA-256 is that of the row. */
  setVerified(row: number, sent: string): void {
    const fingerprint = this.#fingerprint;
    if (!fingerprint.read(sent)) return;
    this.#columns.hot[row * WIDTH + PRINT_LOW] = fingerprint.low;
    this.#columns.hot[row * WIDTH + PRINT_HIGH] = fingerprint.high;
  }

  /** The SHA-256 of a row's key, in hexadecimal. */
  hashOf(row: number): string {
    const from = row * HASH_BYTES;
    return Buffer.from(this.#columns.hashes.buffer, from, HASH_BYTES).toString("hex");
  }

  /** A number that stands for the tenant, the same for all of its keys. */
  tenantNumberOf(row: number): number {
    return this.#word(row, TENANT);
  }

  tenantOf(row: number): string {
    return this.#strings.at(this.#word(row, TENANT));
  }

  /** A number that stands for the scopes, the same for all keys that have them; 0 if there are none. */
  scopesNumberOf(row: number): number {
    return this.#word(row, SCOPES);
  }

  scopesOf(row: number): readonly string[] {
    const number = this.#word(row, SCOPES);
    return number === 0 ? NO_SCOPES : JSON.parse(this.#strings.at(number));
  }

  /** The id that a key is counted by, if it is not its own. */
  countedAsOf(row: number): string | undefined {
    const number = this.#word(row, COUNTED_AS);
    return number === 0 ? undefined : this.#strings.at(number);
  }

  /** When a key ends, by the wall clock; Infinity if it does not. */
  expiryOf(row: number): number {
    if (this.#word(row, EXPIRES) === 0) return Number.POSITIVE_INFINITY;
    return this.#columns.expiries[row] as number;
  }

  /** The change that wrote a key last. */
  sequenceOf(row: number): number {
    return this.#columns.sequences[row] as number;
  }

  /** The hour in which a key was noted as used; 0 if it was not. */
  lastUseOf(row: number): number {
    return this.#word(row, LAST_USE);
  }

  setLastUse(row: number, hour: number): void {
    this.#columns.hot[row * WIDTH + LAST_USE] = hour;
  }

  idOf(row: number): string {
    const [a, b, c] = this.#idOf(row);
    return String.fromCharCode(...charsOf(a), ...charsOf(b), ...charsOf(c));
  }

  /** What nodes know of a key. */
  bodyOf(row: number): KeyBody {
    const expiresAtMs = this.expiryOf(row);
    const countedAs = this.countedAsOf(row);
    return {
      tenant: this.tenantOf(row),
      scopes: this.scopesOf(row),
      hash: this.hashOf(row),
      ...(expiresAtMs === Number.POSITIVE_INFINITY ? {} : { expiresAtMs }),
      ...(countedAs === undefined ? {} : { countedAs }),
    };
  }

  #find(text: string, from: number): number {
    const slots = this.#slots;
    const { hot } = this.#columns;
    const mask = slots.length - 1;
    const a = wordAt(text, from);
    const b = wordAt(text, from + 4);
    const c = wordAt(text, from + 8);
    for (let at = hashOfWords(a, b, c) & mask; ; at = (at + 1) & mask) {
      const row = (slots[at] as number) - 1;
      if (row < 0) return NO_ROW;
      const id = row * WIDTH + ID;
      if (hot[id] === a && hot[id + 1] === b && hot[id + 2] === c) return row;
    }
  }

  #addRow(id: string): number {
    const row = this.#size;
    const { length } = this.#columns.sequences;
    if (row === length) this.#resize(Math.max(ROWS_MIN, Math.ceil(length * GROWTH)));
    this.#size = row + 1;
    const at = row * WIDTH;
    const { hot } = this.#columns;
    for (let i = 0; i < ID_LENGTH / 4; i++) hot[at + ID + i] = wordAt(id, i * 4);
    hot[at + LAST_USE] = 0;
    this.#takeSlot(this.#hashOfRow(row), row);
    return row;
  }

  #release(row: number): void {
    for (const word of [TENANT, SCOPES, COUNTED_AS]) this.#strings.release(this.#word(row, word));
  }

  #word(row: number, word: number): number {
    return this.#columns.hot[row * WIDTH + word] as number;
  }

  #idOf(row: number): readonly [number, number, number] {
    return [this.#word(row, ID), this.#word(row, ID + 1), this.#word(row, ID + 2)];
  }

  #resize(rows: number): void {
    this.#columns = toColumns(rows, this.#columns);
    const slots = 2 ** Math.ceil(Math.log2(rows * SLOTS_PER_ROW));
    if (slots <= this.#slots.length) return;
    this.#slots = new Uint32Array(slots);
    for (let row = 0; row < this.#size; row++) this.#takeSlot(this.#hashOfRow(row), row);
  }

  #takeSlot(hash: number, row: number): void {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = row + 1;
  }

  #slotOf(row: number): number {
    const mask = this.#slots.length - 1;
    let at = this.#hashOfRow(row) & mask;
    while (this.#slots[at] !== row + 1) at = (at + 1) & mask;
    return at;
  }

  /** Empties a slot. Those behind it move up, so that no search ends before its row. */
  #freeSlot(empty: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let hole = empty;
    for (let at = (hole + 1) & mask; slots[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hashOfRow((slots[at] as number) - 1) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots[hole] = slots[at] as number;
      hole = at;
    }
    slots[hole] = 0;
  }

  #hashOfRow(row: number): number {
    return hashOfWords(...this.#idOf(row));
  }
}

function charsOf(word: number): readonly number[] {
  return [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24];
}
