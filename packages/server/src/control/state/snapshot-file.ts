// The state that a node keeps on disk, so that it starts without the control plane. First a snapshot: a header with a
// checksum, and one entity a line. Behind it the changes since then, one a line as they come, each with a checksum of
// its own: a change costs one short write, and a crash can cut off only the last line. When the changes grow too many,
// a new snapshot is written beside and renamed, so that a reader always finds a whole one.

import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { wallMs } from "../../base/clock.js";
import { ControlState, type NodeChange, type NodeEntity, type Snapshot } from "./state.js";

const FORMAT = 1;
/** Changes behind a snapshot before a new one is written, at least; or as many as it has entities. */
const CHANGES_MIN = 1_000;
/** A file that is gone is not begun with changes: they need the snapshot before them. */
const APPEND = constants.O_WRONLY | constants.O_APPEND;

interface Header {
  readonly format: number;
  readonly sequence: number;
  readonly hash: string;
  /** Lines of entities. */
  readonly entities: number;
  readonly sha256: string;
}

/** The file of one node. */
export class SnapshotFile {
  readonly #path: string;
  #changes = 0;
  #changesMax = CHANGES_MIN;
  /** Whether something could not be written: what would be appended has a gap before it, so all is written again. */
  #isBehind = false;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The state that was kept.
   *
   * @returns Undefined if there is none, or, with `onBroken` called, if it can't be used.
   */
  read(onBroken: (why: string) => void): ControlState | undefined {
    try {
      const { state, changes, bytes, isCut } = parse(readFileSync(this.#path, "utf8"));
      // What was cut off would otherwise spoil the line that is appended next.
      if (isCut) truncateSync(this.#path, bytes);
      this.#changes = changes;
      return state;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") onBroken(message);
      return undefined;
    }
  }

  /** Keeps a state as a whole; only its user may read it. Throws what the system says. */
  write({ sequence, hash = "", entities }: Snapshot): void {
    this.#isBehind = true;
    const lines = entities.map((entity) => `${JSON.stringify(entity)}\n`).join("");
    const sha256 = hashOf(`${sequence} ${hash}\n${lines}`);
    const header: Header = { format: FORMAT, sequence, hash, entities: entities.length, sha256 };
    // One name, so that a process that was killed while it wrote leaves nothing that stays.
    const beside = `${this.#path}.new`;
    // On the disk before it has the name: after a power failure an empty file would be in its place.
    writeThrough(beside, `${JSON.stringify(header)}\n${lines}`);
    renameSync(beside, this.#path);
    syncFolder(dirname(this.#path));
    this.#changes = 0;
    this.#changesMax = Math.max(CHANGES_MIN, entities.length);
    this.#isBehind = false;
  }

  /** Marks what is kept as current now, by the time of the file. What could not be written before is written first. */
  touch(state: ControlState): void {
    if (this.#isBehind) this.write(state.toSnapshot());
    this.#isBehind = true;
    const seconds = wallMs() / 1_000;
    utimesSync(this.#path, seconds, seconds);
    this.#isBehind = false;
  }

  /** When what is kept was last known to be current, by the wall clock; undefined if there is no file. */
  get currentAtMs(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.mtimeMs;
  }

  /** Keeps changes; the state is that after them. */
  append(changes: readonly NodeChange[], state: ControlState): void {
    if (this.#isBehind || this.#changes + changes.length > this.#changesMax) {
      this.write(state.toSnapshot());
      return;
    }
    this.#isBehind = true;
    const file = openSync(this.#path, APPEND);
    try {
      writeFileSync(file, changes.map(toLine).join(""));
    } finally {
      closeSync(file);
    }
    this.#isBehind = false;
    this.#changes += changes.length;
  }
}

interface Parsed {
  readonly state: ControlState;
  readonly changes: number;
  /** Bytes up to the last whole line. */
  readonly bytes: number;
  readonly isCut: boolean;
}

function parse(text: string): Parsed {
  const lines = text.split("\n");
  const rest = lines.pop(); // Empty, unless the last line is cut off.
  const { format, sequence, hash, entities, sha256 } = JSON.parse(lines[0] ?? "") as Header;
  if (format !== FORMAT) throw new Error(`its format is ${format}, this version reads ${FORMAT}`);
  const body = lines.slice(1, entities + 1);
  const begin = (lines[0] ?? "").length + 1;
  const length = body.reduce((sum, line) => sum + line.length + 1, 0);
  const written = text.slice(begin, begin + length);
  if (sha256 !== hashOf(`${sequence} ${hash}\n${written}`))
    throw new Error("its checksum is wrong");
  // In one go: a hundred thousand calls take twice as long.
  const read = JSON.parse(`[${body.join(",")}]`) as NodeEntity[];
  const state = new ControlState({ sequence, hash, entities: read });
  const changes = lines.slice(entities + 1);
  state.apply(changes.map(fromLine));
  const bytes = Buffer.byteLength(text) - Buffer.byteLength(rest ?? "");
  return { state, changes: changes.length, bytes, isCut: rest !== "" };
}

function toLine(change: NodeChange): string {
  const json = JSON.stringify(change);
  return `${hashOf(json).slice(0, LINE_HASH_LENGTH)} ${json}\n`;
}

const LINE_HASH_LENGTH = 16;

function fromLine(line: string): NodeChange {
  const json = line.slice(LINE_HASH_LENGTH + 1);
  if (line.slice(0, LINE_HASH_LENGTH) !== hashOf(json).slice(0, LINE_HASH_LENGTH)) {
    throw new Error("the checksum of a change is wrong");
  }
  return JSON.parse(json);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function writeThrough(path: string, text: string): void {
  const file = openSync(path, "w", 0o600);
  try {
    // Unlike one write, this goes on until all is written or the disk is full.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(folder: string): void {
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
