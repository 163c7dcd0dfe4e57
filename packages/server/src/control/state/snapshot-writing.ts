// Writes a snapshot while decisions go on: entities become lines in slices, and other threads wait for the disk. Changes
// that are applied meanwhile are written behind the entities. The file gets its name at the end, when it is whole: until
// then, and if the process ends before that, the one before it is there.

import { createHash, type Hash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { nextTurn } from "../../base/clock.js";
import { ENTITY_KINDS } from "../changes/entity.js";
import { SNAPSHOT_FORMAT, type SnapshotHeader, toChangeLine } from "./snapshot-lines.js";
import type { ControlState, NodeChange } from "./state.js";

/** Entities, and characters of them, that become lines before others have their turn. */
const ENTITIES_AT_A_TIME = 200;
const PIECE_LENGTH = 64 << 10;
/** Pieces that are written in one call. */
const PIECES_AT_A_TIME = 16;
/** How often changes that came meanwhile are written before the last of them, which are few by then. */
const ROUNDS_MAX = 2;

/** What was written. */
export interface WrittenSnapshot {
  /** The number of entities in the snapshot. */
  readonly entities: number;
  /** Lines of changes behind it. */
  readonly changes: number;
}

/** Where a snapshot goes. */
export interface SnapshotPaths {
  readonly path: string;
  /** Where it is until it is whole, in the same folder. */
  readonly unfinishedPath: string;
}

/** One snapshot that is being written. */
export class SnapshotWriting {
  readonly #paths: SnapshotPaths;
  readonly #state: ControlState;
  /** Applied since it began, and not written yet. */
  #since: NodeChange[] = [];
  #changes = 0;
  #isAbandoned = false;

  constructor(paths: SnapshotPaths, state: ControlState) {
    this.#paths = paths;
    this.#state = state;
  }

  /** How many changes were applied since it began. */
  get changes(): number {
    return this.#changes + this.#since.length;
  }

  /** Changes that were applied to the state since it began. */
  add(changes: readonly NodeChange[]): void {
    this.#since.push(...changes);
  }

  /** The file keeps what it has. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#since = [];
  }

  /**
   * Writes it, unless it is abandoned. Rejects with what the system says.
   *
   * @param onNamed - Called when the file has its name, in the same turn: later changes are not written here.
   */
  async run(onNamed: (written: WrittenSnapshot) => void): Promise<void> {
    const lines = await this.#toLines();
    if (lines === undefined) return;
    const { path, unfinishedPath } = this.#paths;
    const file = await open(unfinishedPath, "w", 0o600);
    try {
      await writePieces(file, lines.pieces);
      // On the disk before it has the name: after a power failure an empty file would be in its place.
      await file.sync();
      for (let round = 0; round < ROUNDS_MAX; round++) {
        await file.appendFile(this.#takeSince());
      }
      await file.datasync();
      if (this.#isAbandoned) return;
      // In one turn, so that no change is missing.
      writeFileSync(file.fd, this.#takeSince());
      renameSync(unfinishedPath, path);
      onNamed({ entities: lines.entities, changes: this.#changes });
    } finally {
      await file.close();
    }
    await syncFolder(dirname(path));
  }

  /** Entities that change meanwhile are newer than the header says; the changes behind them pass over them. */
  async #toLines(): Promise<{ pieces: readonly string[]; entities: number } | undefined> {
    const { sequence, hash } = this.#state.position;
    this.#since = [];
    const sha256 = createHash("sha256").update(`${sequence} ${hash}\n`);
    const pieces: string[] = [];
    let entities = 0;
    for (const piece of piecesOf(this.#state)) {
      pieces.push(piece.text);
      sha256.update(piece.text);
      entities += piece.entities;
      await nextTurn();
      if (this.#isAbandoned) return undefined;
    }
    pieces.unshift(toHeader({ sequence, hash, entities }, sha256));
    return { pieces, entities };
  }

  /** The lines of changes that are not written yet. */
  #takeSince(): string {
    const changes = this.#since;
    this.#since = [];
    this.#changes += changes.length;
    return changes.map(toChangeLine).join("");
  }
}

function* piecesOf(state: ControlState): Iterable<{ text: string; entities: number }> {
  let [text, entities] = ["", 0];
  for (const kind of ENTITY_KINDS) {
    for (const entity of state.walk(kind)) {
      text += `${JSON.stringify(entity)}\n`;
      entities++;
      if (entities < ENTITIES_AT_A_TIME && text.length < PIECE_LENGTH) continue;
      yield { text, entities };
      [text, entities] = ["", 0];
    }
  }
  if (entities > 0) yield { text, entities };
}

function toHeader(
  of: Pick<SnapshotHeader, "sequence" | "hash" | "entities">,
  sha256: Hash,
): string {
  const header: SnapshotHeader = { format: SNAPSHOT_FORMAT, ...of, sha256: sha256.digest("hex") };
  return `${JSON.stringify(header)}\n`;
}

async function writePieces(file: FileHandle, pieces: readonly string[]): Promise<void> {
  for (let begin = 0; begin < pieces.length; begin += PIECES_AT_A_TIME) {
    // Unlike one write, this continues until all is written or the disk is full.
    await file.writeFile(pieces.slice(begin, begin + PIECES_AT_A_TIME).join(""));
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
