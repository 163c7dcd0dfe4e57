// What a node knows of the control plane: every entity, as of one sequence number. It is built from a snapshot and then
// moved forward by the changes of a feed, one by one and never over a gap. API keys, of which there are many, are
// in a table of their own; everything else is kept as objects.

import { ServerError } from "../../base/errors.js";
import type { AuditEntry } from "../changes/audit.js";
import { ENTITY_KINDS, type EntityBody, type EntityKind, isEntityKind } from "../changes/entity.js";
import { KeyTable, NO_SLOT } from "../keys/key-table.js";
import { fillFromSystem } from "../secret-format.js";

/** An entity as nodes get it. */
export interface NodeEntity {
  readonly kind: EntityKind;
  readonly id: string;
  /** The change that wrote it last. */
  readonly sequence: number;
  readonly body: EntityBody;
}

/** How far a node is: the number of the last change, and its hash, in which databases and their backups differ. */
export interface StatePosition {
  readonly sequence: number;
  /** Empty if it is not known. */
  readonly hash: string;
}

/** Everything as of a change. */
export interface Snapshot {
  readonly sequence: number;
  /** The hash of that change in the audit log. Default: not known. */
  readonly hash?: string | undefined;
  readonly entities: readonly NodeEntity[];
}

/** What of a change a node needs. */
export interface NodeChange extends Pick<AuditEntry, "sequence" | "kind" | "entityId" | "after"> {
  /** The hash of the change before it in the audit log. Default: not known, and not compared. */
  readonly previousHash?: string | undefined;
  /** Its own. */
  readonly hash?: string | undefined;
}

/** Called with what changed, afterwards. What it may return resolves when that is in force; it never rejects. */
export type OnChanged = (kinds: ReadonlySet<EntityKind>) => Promise<void> | void;

/** Calls all of them, in their order. Undefined if there is nothing to wait for. */
export function notifyAll(
  listeners: Iterable<OnChanged>,
  kinds: ReadonlySet<EntityKind>,
): Promise<void> | undefined {
  const waiting = [...listeners].map((listener) => listener(kinds)).filter(isPromise);
  return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {});
}

function isPromise(value: Promise<void> | void): value is Promise<void> {
  return value !== undefined;
}

/** What a node knows. */
export class ControlState {
  /** API keys, with what nodes need of them. */
  readonly keys = new KeyTable(fillFromSystem);
  readonly #byKind = new Map<EntityKind, Map<string, NodeEntity>>();
  #sequence = 0;
  #hash = "";

  constructor(snapshot: Snapshot = { sequence: 0, entities: [] }) {
    this.#load(snapshot);
  }

  /** The last change that it knows. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The last change that it knows, with its hash. */
  get position(): StatePosition {
    return { sequence: this.#sequence, hash: this.#hash };
  }

  /** What an entity says; undefined if it is not there. */
  find(kind: EntityKind, id: string): EntityBody | undefined {
    if (kind !== "api-key") return this.#of(kind).get(id)?.body;
    const slot = this.keys.find(id);
    return slot === NO_SLOT ? undefined : this.keys.bodyOf(slot);
  }

  /** All entities of a kind. Nothing may change until the last of them was read. */
  all(kind: EntityKind): IterableIterator<NodeEntity> {
    return kind === "api-key" ? this.#allKeys() : this.#of(kind).values();
  }

  /**
   * All entities of a kind, while others may change them between two: those that are made or changed meanwhile may be as
   * they were or as they are, and an API key may come twice, the second time as it is. None is missing that stays.
   */
  walk(kind: EntityKind): Iterable<NodeEntity> {
    return kind === "api-key" ? this.#walkKeys() : this.#of(kind).values();
  }

  /** How many entities of a kind there are. */
  count(kind: EntityKind): number {
    return kind === "api-key" ? this.keys.size : this.#of(kind).size;
  }

  /** Starts over from a snapshot, which may be older or newer. */
  replace(snapshot: Snapshot): void {
    this.#byKind.clear();
    this.keys.clear();
    this.#load(snapshot);
  }

  /**
   * Moves forward, and returns the kinds that changed. Changes that it knows already are passed over.
   *
   * @throws ServerError `SLUICE_CONTROL_GAP` if a change between is missing, or if they are of another history, such as
   *   that of a restored backup; those before the gap are applied.
   */
  apply(changes: readonly NodeChange[]): ReadonlySet<EntityKind> {
    const changed = new Set<EntityKind>();
    for (const change of changes) {
      if (change.sequence <= this.#sequence) continue;
      if (change.sequence !== this.#sequence + 1) {
        const seen = `change ${change.sequence} came after ${this.#sequence}`;
        throw new ServerError("SLUICE_CONTROL_GAP", seen);
      }
      checkHistory(change, this.#hash);
      this.#sequence = change.sequence;
      this.#hash = change.hash ?? "";
      const { kind } = change;
      // What was done to counters is in the same log, and a newer control node may have kinds that this one has not.
      if (isEntityKind(kind) && this.#applyOne(kind, change)) changed.add(kind);
    }
    return changed;
  }

  /** Everything as it stands, to be kept or sent. */
  toSnapshot(): Snapshot {
    const entities = ENTITY_KINDS.flatMap((kind) => [...this.all(kind)]);
    return { sequence: this.#sequence, hash: this.#hash, entities };
  }

  /** A snapshot may have been read while changes went on, so an entity can be newer than the change. */
  #applyOne(kind: EntityKind, { sequence, entityId, after }: NodeChange): boolean {
    if (kind === "api-key") return this.#applyKey(entityId, sequence, after);
    const entities = this.#of(kind);
    if ((entities.get(entityId)?.sequence ?? 0) >= sequence) return false;
    if (after === undefined) return entities.delete(entityId);
    entities.set(entityId, { kind, id: entityId, sequence, body: after });
    return true;
  }

  #load({ sequence, hash = "", entities }: Snapshot): void {
    this.#sequence = sequence;
    this.#hash = hash;
    this.keys.reserve(entities.reduce((keys, { kind }) => keys + (kind === "api-key" ? 1 : 0), 0));
    for (const entity of entities) {
      const { kind, id, sequence: writtenBy, body } = entity;
      if (kind === "api-key") this.keys.set(id, writtenBy, body);
      else this.#of(kind).set(id, entity);
    }
  }

  #applyKey(id: string, sequence: number, after: EntityBody | undefined): boolean {
    const slot = this.keys.find(id);
    if (slot !== NO_SLOT && this.keys.sequenceOf(slot) >= sequence) return false;
    return after === undefined ? this.keys.delete(id) : this.keys.set(id, sequence, after);
  }

  *#allKeys(): IterableIterator<NodeEntity> {
    for (let row = 0; row < this.keys.size; row++) yield this.#toKey(row);
  }

  /** From the last row: it takes the place of one that is removed. */
  *#walkKeys(): IterableIterator<NodeEntity> {
    for (let row = this.keys.size - 1; row >= 0; row = Math.min(row, this.keys.size) - 1) {
      yield this.#toKey(row);
    }
  }

  #toKey(row: number): NodeEntity {
    const { keys } = this;
    const slot = keys.slotOf(row);
    const [id, sequence] = [keys.idOf(slot), keys.sequenceOf(slot)];
    return { kind: "api-key", id, sequence, body: keys.bodyOf(slot) };
  }

  #of(kind: EntityKind): Map<string, NodeEntity> {
    let entities = this.#byKind.get(kind);
    if (entities === undefined) {
      entities = new Map();
      this.#byKind.set(kind, entities);
    }
    return entities;
  }
}

function checkHistory({ sequence, previousHash }: NodeChange, hash: string): void {
  if (previousHash === undefined || hash === "" || previousHash === hash) return;
  const seen = `change ${sequence} belongs to another history than the one before it`;
  throw new ServerError("SLUICE_CONTROL_GAP", seen);
}
