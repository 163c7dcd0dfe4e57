// The API keys that a node knows, in typed arrays: about a hundred bytes for each, where an object with its strings takes
// five hundred. Keys are rows, found by their id in a table of slots with linear probing. What only people read of a key,
// such as its name, stays in the database.

import type { EntityBody } from "../entities.js";
import type { FillRandom } from "../secret-format.js";
import { Interned } from "./interned.js";
import { HASH_BYTES, ID_LENGTH, moveRow, toColumns } from "./key-columns.js";
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
    this.#fingerprint = new KeyFingerprint(
      { from: ID_FROM + ID_LENGTH, to: SENT_LENGTH },
      fillRandom,
    );
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
    const columns = this.#columns;
    const list = Array.isArray(scopes) && scopes.length > 0 ? scopes : undefined;
    columns.hashes.set(Buffer.from(hash, "hex"), row * HASH_BYTES);
    columns.tenants[row] = this.#strings.add(String(tenant ?? ""));
    columns.scopes[row] = list === undefined ? 0 : this.#strings.add(JSON.stringify(list));
    columns.countedAs[row] = countedAs === undefined ? 0 : this.#strings.add(String(countedAs));
    columns.expiries[row] =
      typeof expiresAtMs === "number" ? expiresAtMs : Number.POSITIVE_INFINITY;
    columns.sequences[row] = sequence;
    columns.lows[row] = 0;
    columns.highs[row] = 0;
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
    const { lows, highs } = this.#columns;
    const high = highs[row] as number;
    if (high === 0) return undefined;
    const fingerprint = this.#fingerprint;
    return fingerprint.read(sent) && lows[row] === fingerprint.low && high === fingerprint.high;
  }

  /** Remembers the key that was sent, whose SHA-256 is that of the row. */
  setVerified(row: number, sent: string): void {
    const fingerprint = this.#fingerprint;
    if (!fingerprint.read(sent)) return;
    this.#columns.lows[row] = fingerprint.low;
    this.#columns.highs[row] = fingerprint.high;
  }

  /** The SHA-256 of a row's key, in hexadecimal. */
  hashOf(row: number): string {
    const from = row * HASH_BYTES;
    return Buffer.from(this.#columns.hashes.buffer, from, HASH_BYTES).toString("hex");
  }

  /** A number that stands for the tenant, the same for all of its keys. */
  tenantNumberOf(row: number): number {
    return this.#columns.tenants[row] as number;
  }

  tenantOf(row: number): string {
    return this.#strings.at(this.#columns.tenants[row] as number);
  }

  /** A number that stands for the scopes, the same for all keys that have them; 0 if there are none. */
  scopesNumberOf(row: number): number {
    return this.#columns.scopes[row] as number;
  }

  scopesOf(row: number): readonly string[] {
    const number = this.#columns.scopes[row] as number;
    return number === 0 ? NO_SCOPES : JSON.parse(this.#strings.at(number));
  }

  /** The id that a key is counted by, if it is not its own. */
  countedAsOf(row: number): string | undefined {
    const number = this.#columns.countedAs[row] as number;
    return number === 0 ? undefined : this.#strings.at(number);
  }

  /** When a key ends, by the wall clock; Infinity if it does not. */
  expiryOf(row: number): number {
    return this.#columns.expiries[row] as number;
  }

  /** The change that wrote a key last. */
  sequenceOf(row: number): number {
    return this.#columns.sequences[row] as number;
  }

  /** The hour in which a key was noted as used; 0 if it was not. */
  lastUseOf(row: number): number {
    return this.#columns.lastUses[row] as number;
  }

  setLastUse(row: number, hour: number): void {
    this.#columns.lastUses[row] = hour;
  }

  idOf(row: number): string {
    const from = row * ID_LENGTH;
    return Buffer.from(this.#columns.ids.buffer, from, ID_LENGTH).toString("latin1");
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
    const { ids } = this.#columns;
    const mask = slots.length - 1;
    for (let at = hashIn(text, from) & mask; ; at = (at + 1) & mask) {
      const row = (slots[at] as number) - 1;
      if (row < 0) return NO_ROW;
      const start = row * ID_LENGTH;
      let i = 0;
      while (i < ID_LENGTH && ids[start + i] === text.charCodeAt(from + i)) i++;
      if (i === ID_LENGTH) return row;
    }
  }

  #addRow(id: string): number {
    const row = this.#size;
    const { length } = this.#columns.sequences;
    if (row === length) this.#resize(Math.max(ROWS_MIN, Math.ceil(length * GROWTH)));
    this.#size = row + 1;
    const { ids, lastUses } = this.#columns;
    for (let i = 0; i < ID_LENGTH; i++) ids[row * ID_LENGTH + i] = id.charCodeAt(i);
    lastUses[row] = 0;
    this.#takeSlot(hashIn(id, 0), row);
    return row;
  }

  #release(row: number): void {
    const { tenants, scopes, countedAs } = this.#columns;
    this.#strings.release(tenants[row] as number);
    this.#strings.release(scopes[row] as number);
    this.#strings.release(countedAs[row] as number);
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
    let hash = 0;
    const { ids } = this.#columns;
    for (let i = row * ID_LENGTH; i < (row + 1) * ID_LENGTH; i++)
      hash = mix(hash, ids[i] as number);
    return spread(hash);
  }
}

/** The hash of an id within a string. Ids are random, so there is nothing to defend against. */
function hashIn(text: string, from: number): number {
  let hash = 0;
  for (let i = from; i < from + ID_LENGTH; i++) hash = mix(hash, text.charCodeAt(i));
  return spread(hash);
}

function mix(hash: number, code: number): number {
  return Math.imul(hash, 31) + code;
}

function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
