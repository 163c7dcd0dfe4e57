// What a node passes on to those that follow it, its workers or followers over HTTP: the latest changes and a
// snapshot, each serialised once, however many read it. A snapshot is made in small pieces, so that decisions
// continue meanwhile.

import { nextTurn, readMs } from "../../base/clock.js";
import type { Unsubscribe } from "../../database/database.js";
import type { EntityKind } from "../changes/entity.js";
import { ENTITY_KINDS } from "../changes/entity.js";
import type { ControlState, NodeChange, StatePosition } from "../state/state.js";
import { FEED_FORMAT, toLine } from "./feed-lines.js";

/** How many changes are kept for followers that reconnect. */
const CHANGES_MAX = 10_000;
const CHANGES_LENGTH_MAX = 32 << 20;
/** Entities that are turned into text before others have their turn. */
const ENTITIES_AT_A_TIME = 500;
/** A piece of a snapshot ends with the entity that reaches this. */
const PIECE_LENGTH = 256 << 10;
/** After this many, decisions wait. */
const ATTEMPTS_MAX = 5;
/** For how long a snapshot is handed out; what changed since then follows it. */
const SNAPSHOT_MS_MAX = 30_000;

interface KeptChange {
  readonly sequence: number;
  readonly hash: string | undefined;
  readonly previousHash: string | undefined;
  readonly line: string;
}

/** Consecutive lines, and the change that the last of them is. */
export interface NextLines {
  /** Empty if there are none. */
  readonly text: string;
  readonly position: StatePosition;
}

interface KeptSnapshot {
  /** The position of the attempt that is under way or has succeeded. */
  position: StatePosition;
  readonly madeAtMs: number;
  readonly pieces: Promise<readonly string[]>;
}

/** Changes and snapshots as JSON. */
export class ChangeHub {
  readonly #state: ControlState;
  readonly #subscribers = new Set<() => void>();
  /** Consecutive, up to the state's position. */
  #kept: KeptChange[] = [];
  #keptLength = 0;
  #snapshot: KeptSnapshot | undefined;
  /** How often entities may have changed their places. */
  #moves = 0;

  constructor(state: ControlState) {
    this.#state = state;
  }

  /** The last change that can be handed out. */
  get position(): StatePosition {
    return this.#state.position;
  }

  /** Changes that the state has applied. */
  add(changes: readonly NodeChange[]): void {
    for (const change of changes) {
      this.#keep(change);
      // In the table of API keys another one takes the place of one that is removed.
      if (change.after === undefined) this.#moves++;
    }
    this.#notify();
  }

  /** Changes that the state had before, so that followers find them after a restart of this node. */
  addEarlier(changes: readonly NodeChange[]): void {
    const first = this.#kept[0]?.sequence ?? this.position.sequence + 1;
    const earlier = changes.filter(({ sequence }) => sequence < first);
    if (earlier.at(-1)?.sequence !== first - 1) return;
    const later = this.#kept;
    this.#kept = [];
    for (const change of earlier) this.#keep(change);
    this.#kept.push(...later);
  }

  /** The state was replaced: changes before it are not available. */
  restart(): void {
    this.#kept = [];
    this.#keptLength = 0;
    this.#snapshot = undefined;
    this.#moves++;
    this.#notify();
  }

  /**
   * The lines of the changes after a position; empty if there are none, or if the position is ahead of this node, which
   * may be a moment behind another control node.
   *
   * @returns Undefined if they are not at hand, or the position is of another history: a snapshot is needed.
   */
  linesAfter(position: StatePosition): readonly string[] | undefined {
    const at = this.#indexAfter(position);
    return at === undefined ? undefined : this.#kept.slice(at).map(({ line }) => line);
  }

  /**
   * The next lines after a position, up to a length, but at least one; see {@link linesAfter}.
   *
   * @returns Undefined if a snapshot is needed.
   */
  nextAfter(position: StatePosition, lengthMax: number): NextLines | undefined {
    const at = this.#indexAfter(position);
    if (at === undefined) return undefined;
    let last = this.#kept[at];
    if (last === undefined) return { text: "", position };
    let text = last.line;
    for (let next = at + 1; next < this.#kept.length; next++) {
      const { line } = this.#kept[next];
      if (text.length + line.length > lengthMax) break;
      text += line;
      last = this.#kept[next];
    }
    return { text, position: { sequence: last.sequence, hash: last.hash ?? "" } };
  }

  /**
   * The pieces of a snapshot, each of whole lines.
   *
   * @param isBeingRead - Whether the last one is still being sent to a follower: it is then handed out for as long as
   *   the changes after it are at hand, so that slow followers don't keep one each in memory.
   */
  snapshot(isBeingRead = false): Promise<readonly string[]> {
    const kept = this.#snapshot;
    const isUsable =
      kept !== undefined &&
      (isBeingRead || readMs() - kept.madeAtMs < SNAPSHOT_MS_MAX) &&
      this.#indexAfter(kept.position) !== undefined;
    if (isUsable) return kept.pieces;
    const made = { position: this.position, madeAtMs: readMs() };
    this.#snapshot = Object.assign(made, { pieces: this.#makeSnapshot(made) });
    return this.#snapshot.pieces;
  }

  /** Calls back after changes were added. */
  subscribe(onChange: () => void): Unsubscribe {
    this.#subscribers.add(onChange);
    return () => this.#subscribers.delete(onChange);
  }

  /** Where the next change is, or will be. Undefined: a snapshot is needed. */
  #indexAfter({ sequence, hash }: StatePosition): number | undefined {
    const head = this.position;
    if (sequence > head.sequence) return this.#kept.length;
    if (sequence === head.sequence) return isSame(hash, head.hash) ? this.#kept.length : undefined;
    const first = this.#kept[0]?.sequence ?? head.sequence + 1;
    const at = sequence + 1 - first;
    return at >= 0 && isSame(hash, this.#kept[at]?.previousHash ?? "") ? at : undefined;
  }

  #keep(change: NodeChange): void {
    const { sequence, hash, previousHash } = change;
    const line = toLine(change);
    this.#kept.push({ sequence, hash, previousHash, line });
    this.#keptLength += line.length;
    // A part of them in one go, so that this is rare.
    if (this.#kept.length <= CHANGES_MAX && this.#keptLength <= CHANGES_LENGTH_MAX) return;
    this.#kept = this.#kept.slice(this.#kept.length >> 2);
    this.#keptLength = this.#kept.reduce((sum, each) => sum + each.line.length, 0);
  }

  /** Starts over when API keys have moved meanwhile, and in the end does not let others have their turn. */
  async #makeSnapshot(made: { position: StatePosition }): Promise<readonly string[]> {
    for (let attempt = 1; ; attempt++) {
      made.position = this.position;
      const pieces = await this.#tryToMake(made.position, attempt < ATTEMPTS_MAX);
      if (pieces !== undefined) return pieces;
    }
  }

  /**
   * Entities that change meanwhile are newer than the position says; the changes that follow it pass over them.
   *
   * @returns Undefined if entities have moved, so that some may be missing.
   */
  async #tryToMake(
    { sequence, hash }: StatePosition,
    takesTurns: boolean,
  ): Promise<readonly string[] | undefined> {
    const pieces = [toLine({ format: FEED_FORMAT, sequence, hash })];
    const moves = this.#moves;
    let entities = 0;
    for (const kind of ENTITY_KINDS) {
      for (const piece of this.#piecesOf(kind)) {
        pieces.push(piece.text);
        entities += piece.entities;
        if (takesTurns) await nextTurn();
        if (moves !== this.#moves) return undefined;
      }
    }
    return [...pieces, toLine({ end: entities })];
  }

  *#piecesOf(kind: EntityKind): Iterable<{ text: string; entities: number }> {
    let [text, entities] = ["", 0];
    for (const entity of this.#state.all(kind)) {
      text += toLine(entity);
      entities++;
      if (entities < ENTITIES_AT_A_TIME && text.length < PIECE_LENGTH) continue;
      yield { text, entities };
      [text, entities] = ["", 0];
    }
    if (entities > 0) yield { text, entities };
  }

  #notify(): void {
    for (const onChange of this.#subscribers) onChange();
  }
}

/** Hashes that are not known are not compared. */
function isSame(one: string, other: string): boolean {
  return one === "" || other === "" || one === other;
}
