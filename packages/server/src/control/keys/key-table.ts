// The API keys that a node knows, in typed arrays: some 90 to 120 bytes for each (bench control/key-bytes). Keys are
// found by their id in a table of slots with linear probing. What only people read of a key, such as its name, stays in
// the database.

import type { EntityBody } from "../changes/entity.js";
import type { FillRandom } from "../secret-format.js";
import { Interned } from "./interned.js";
import {
  EXPIRES,
  FLAG_BITS,
  HASH_BYTES,
  hashOfRow,
  hashOfWords,
  ID_LENGTH,
  ID_WORDS,
  idOfRow,
  isIdOf,
  moveRow,
  PRINT_HIGH,
  PRINT_LOW,
  RIGHTS,
  ROTATED,
  ROW,
  toColumns,
  toRowWord,
  USED,
  WIDTH,
  wordAt,
} from "./key-columns.js";
import { KeyFingerprint } from "./key-fingerprint.js";
import { type KeyRights, toRights, toRightsText } from "./key-rights.js";

/** Where the id begins in a key as it is sent: `slk_<id>_<secret>_<checksum>`. */
const ID_FROM = 4;
/** The length of a key as it is sent. */
export const SENT_LENGTH = 56;
const ROWS_MIN = 64;
const GROWTH = 1.25;
/** So that a key is found in one of the first two slots on average, which mostly share a line of the cache. */
const SLOTS_PER_ROW = 1.6;
/** The number of hashes: 32 bits. */
const HASHES = 2 ** 32;
const ID_SHAPE = /^[0-9A-Za-z]{12}$/;
const HASH_SHAPE = /^[0-9a-f]{64}$/;

/** The id in a key as it was sent. */
export function idIn(sent: string): string {
  return sent.slice(ID_FROM, ID_FROM + ID_LENGTH);
}

/** A slot that is not there. */
export const NO_SLOT = -1;

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

/** Keys by id. The slot of a key is valid until the next change. */
export class KeyTable {
  #size = 0;
  #columns = toColumns(0);
  #slots = 1;
  /** `WIDTH` words for each slot. */
  #hot = new Uint32Array(WIDTH);
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
    let bytes = this.#hot.byteLength;
    for (const { byteLength } of Object.values(this.#columns)) bytes += byteLength;
    return bytes;
  }

  /** Forgets all keys. */
  clear(): void {
    this.#size = 0;
    this.#columns = toColumns(0);
    this.#slots = 1;
    this.#hot = new Uint32Array(WIDTH);
    this.#strings = new Interned();
  }

  /** Makes room for this many keys in all. */
  reserve(keys: number): void {
    if (keys > this.#columns.sequences.length) this.#resize(keys);
  }

  /** Adds a key or replaces it. False if it is not one: an id or a hash of another form. */
  set(id: string, sequence: number, body: EntityBody): boolean {
    const { tenant, hash, scopes, expiresAtMs, countedAs } = body as Partial<KeyBody>;
    if (!ID_SHAPE.test(id) || typeof hash !== "string" || !HASH_SHAPE.test(hash)) return false;
    let slot = this.find(id);
    if (slot === NO_SLOT) slot = this.#add(id);
    else this.#release(slot);
    const { hashes, expiries, sequences, countedAs: others } = this.#columns;
    const hot = this.#hot;
    const row = this.#rowOf(slot);
    const at = slot * WIDTH;
    const expires = typeof expiresAtMs === "number";
    const isRotated = countedAs !== undefined;
    const flags = (expires ? EXPIRES : 0) | (isRotated ? ROTATED : 0) | this.#flag(slot, USED);
    hot[at + ROW] = toRowWord(row, flags);
    hot[at + PRINT_LOW] = 0;
    hot[at + PRINT_HIGH] = 0;
    hot[at + RIGHTS] = this.#strings.add(toRightsText(String(tenant ?? ""), scopes));
    others[row] = isRotated ? this.#strings.add(String(countedAs)) : 0;
    hashes.set(Buffer.from(hash, "hex"), row * HASH_BYTES);
    expiries[row] = expires ? expiresAtMs : Number.POSITIVE_INFINITY;
    sequences[row] = sequence;
    return true;
  }

  /** Removes a key. Returns whether it was there. */
  delete(id: string): boolean {
    const slot = this.find(id);
    if (slot === NO_SLOT) return false;
    this.#release(slot);
    const row = this.#rowOf(slot);
    this.#empty(slot);
    const last = --this.#size;
    if (row !== last) {
      const moved = this.slotOf(last);
      this.#hot[moved * WIDTH + ROW] = toRowWord(row, this.#flag(moved, EXPIRES | ROTATED | USED));
      moveRow(this.#columns, last, row);
    }
    return true;
  }

  /** The slot of an id. */
  find(id: string): number {
    return id.length === ID_LENGTH ? this.#find(id, 0) : NO_SLOT;
  }

  /** The slot of the id in a key as it was sent. Says nothing about its secret. */
  findSent(sent: string): number {
    return sent.length === SENT_LENGTH ? this.#find(sent, ID_FROM) : NO_SLOT;
  }

  /** The slot of the key that was sent, if that key was verified before. */
  findVerified(sent: string): number {
    if (sent.length !== SENT_LENGTH) return NO_SLOT;
    const hot = this.#hot;
    let slot = this.#homeOf(
      hashOfWords(wordAt(sent, ID_FROM), wordAt(sent, ID_FROM + 4), wordAt(sent, ID_FROM + 8)),
    );
    // Read before the fingerprint is made, so that the processor can wait for both at the same time.
    let row = hot[slot * WIDTH + ROW];
    const fingerprint = this.#fingerprint;
    if (!fingerprint.read(sent)) return NO_SLOT;
    const { low, high } = fingerprint;
    while (row !== 0) {
      const at = slot * WIDTH;
      if (hot[at + PRINT_LOW] === low && hot[at + PRINT_HIGH] === high) return slot;
      slot = this.#after(slot);
      row = hot[slot * WIDTH + ROW];
    }
    return NO_SLOT;
  }

  /** Whether the key of a slot was verified. */
  isVerified(slot: number): boolean {
    return this.#word(slot, PRINT_HIGH) !== 0;
  }

  /** Remembers the key that was sent, whose SHA-256 is that of the slot. */
  setVerified(slot: number, sent: string): void {
    const fingerprint = this.#fingerprint;
    if (!fingerprint.read(sent)) return;
    this.#hot[slot * WIDTH + PRINT_LOW] = fingerprint.low;
    this.#hot[slot * WIDTH + PRINT_HIGH] = fingerprint.high;
  }

  /** The SHA-256 of a slot's key, in hexadecimal. */
  hashOf(slot: number): string {
    const from = this.#rowOf(slot) * HASH_BYTES;
    return Buffer.from(this.#columns.hashes.buffer, from, HASH_BYTES).toString("hex");
  }

  /** A number that stands for tenant and scopes, the same for all keys that have these. */
  rightsNumberOf(slot: number): number {
    return this.#word(slot, RIGHTS);
  }

  /** The tenant and the scopes of a key. */
  rightsOf(slot: number): KeyRights {
    return toRights(this.#strings.at(this.#word(slot, RIGHTS)));
  }

  /** The id that a key is counted by, if it is not its own. */
  countedAsOf(slot: number): string | undefined {
    if (this.#flag(slot, ROTATED) === 0) return undefined;
    return this.#strings.at(this.#columns.countedAs[this.#rowOf(slot)] as number);
  }

  /** When a key ends, by the wall clock; Infinity if it does not. */
  expiryOf(slot: number): number {
    if (this.#flag(slot, EXPIRES) === 0) return Number.POSITIVE_INFINITY;
    return this.#columns.expiries[this.#rowOf(slot)] as number;
  }

  /** The change that wrote a key last. */
  sequenceOf(slot: number): number {
    return this.#columns.sequences[this.#rowOf(slot)] as number;
  }

  /** Whether a key was noted as used. */
  isUsed(slot: number): boolean {
    return this.#flag(slot, USED) !== 0;
  }

  setUsed(slot: number): void {
    this.#hot[slot * WIDTH + ROW] = this.#word(slot, ROW) | USED;
  }

  /** Forgets all noted uses of keys. */
  forgetUses(): void {
    const hot = this.#hot;
    for (let at = ROW; at < hot.length; at += WIDTH) hot[at] = (hot[at] as number) & ~USED;
  }

  idOf(slot: number): string {
    return idOfRow(this.#columns, this.#rowOf(slot));
  }

  /** The slot of a row. Rows are numbered from 0 to `size`. */
  slotOf(row: number): number {
    let slot = this.#homeOf(hashOfRow(this.#columns, row));
    while (this.#rowOf(slot) !== row) slot = this.#after(slot);
    return slot;
  }

  /** What nodes know of a key. */
  bodyOf(slot: number): KeyBody {
    const expiresAtMs = this.expiryOf(slot);
    const countedAs = this.countedAsOf(slot);
    return {
      ...this.rightsOf(slot),
      hash: this.hashOf(slot),
      ...(expiresAtMs === Number.POSITIVE_INFINITY ? {} : { expiresAtMs }),
      ...(countedAs === undefined ? {} : { countedAs }),
    };
  }

  #find(text: string, from: number): number {
    const a = wordAt(text, from);
    const b = wordAt(text, from + 4);
    const c = wordAt(text, from + 8);
    for (let slot = this.#homeOf(hashOfWords(a, b, c)); ; slot = this.#after(slot)) {
      const row = this.#rowOf(slot);
      if (row < 0) return NO_SLOT;
      if (isIdOf(this.#columns, row, a, b, c)) return slot;
    }
  }

  #add(id: string): number {
    const row = this.#size;
    const { length } = this.#columns.sequences;
    if (row === length) this.#resize(Math.max(ROWS_MIN, Math.ceil(length * GROWTH)));
    this.#size = row + 1;
    const { ids } = this.#columns;
    for (let i = 0; i < ID_WORDS; i++) ids[row * ID_WORDS + i] = wordAt(id, i * 4);
    const slot = this.#freeSlotOf(row);
    this.#hot[slot * WIDTH + ROW] = toRowWord(row, 0);
    return slot;
  }

  #release(slot: number): void {
    this.#strings.release(this.#word(slot, RIGHTS));
    this.#strings.release(this.#columns.countedAs[this.#rowOf(slot)] as number);
  }

  #word(slot: number, word: number): number {
    return this.#hot[slot * WIDTH + word] as number;
  }

  /** -1 if the slot is empty. */
  #rowOf(slot: number): number {
    return (this.#word(slot, ROW) >>> FLAG_BITS) - 1;
  }

  /** Those of the flags that a slot has; 0 if none. */
  #flag(slot: number, flags: number): number {
    return this.#word(slot, ROW) & flags;
  }

  #resize(rows: number): void {
    const before = this.#hot;
    this.#columns = toColumns(rows, this.#columns);
    this.#slots = Math.ceil(rows * SLOTS_PER_ROW);
    this.#hot = new Uint32Array(this.#slots * WIDTH);
    for (let at = 0; at < before.length; at += WIDTH) {
      const row = ((before[at + ROW] as number) >>> FLAG_BITS) - 1;
      if (row < 0) continue;
      this.#hot.set(before.subarray(at, at + WIDTH), this.#freeSlotOf(row) * WIDTH);
    }
  }

  /** Where the search for a hash starts. */
  #homeOf(hash: number): number {
    return Math.floor((hash / HASHES) * this.#slots);
  }

  #after(slot: number): number {
    return slot + 1 === this.#slots ? 0 : slot + 1;
  }

  /** The first empty slot for a row. There always is one. */
  #freeSlotOf(row: number): number {
    let slot = this.#homeOf(hashOfRow(this.#columns, row));
    while (this.#word(slot, ROW) !== 0) slot = this.#after(slot);
    return slot;
  }

  /** Empties a slot. Those behind it move up, so that no search ends before its key. */
  #empty(slot: number): void {
    const hot = this.#hot;
    let hole = slot;
    for (let next = this.#after(slot); this.#word(next, ROW) !== 0; next = this.#after(next)) {
      const home = this.#homeOf(hashOfRow(this.#columns, this.#rowOf(next)));
      if (this.#stepsTo(next, home) < this.#stepsTo(next, hole)) continue;
      hot.copyWithin(hole * WIDTH, next * WIDTH, (next + 1) * WIDTH);
      hole = next;
    }
    hot.fill(0, hole * WIDTH, (hole + 1) * WIDTH);
  }

  /** How many slots lie between. */
  #stepsTo(slot: number, from: number): number {
    return slot >= from ? slot - from : slot - from + this.#slots;
  }
}
