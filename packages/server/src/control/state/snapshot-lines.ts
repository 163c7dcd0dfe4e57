// The lines of a snapshot on disk: a header with a checksum, one entity a line, and behind them the changes since then,
// one a line, each with a checksum of its own.

import { createHash } from "node:crypto";
import { ControlState, type NodeChange, type NodeEntity } from "./state.js";

/** The version of the file's format. */
export const SNAPSHOT_FORMAT = 1;
const LINE_HASH_LENGTH = 16;

/** The first line. */
export interface SnapshotHeader {
  readonly format: number;
  readonly sequence: number;
  readonly hash: string;
  /** Lines of entities. */
  readonly entities: number;
  /** A hash of sequence, hash and the lines of entities. */
  readonly sha256: string;
}

/** What a file holds. */
export interface ParsedSnapshot {
  readonly state: ControlState;
  readonly entities: number;
  readonly changes: number;
  /** Bytes up to the last whole line. */
  readonly bytes: number;
  /** Whether the last line is cut off. */
  readonly isCut: boolean;
}

/** Reads a file. Throws what is wrong with it, except that its last line may be cut off. */
export function parseSnapshot(text: string): ParsedSnapshot {
  const lines = text.split("\n");
  const rest = lines.pop(); // Empty, unless the last line is cut off.
  const { format, sequence, hash, entities, sha256 } = JSON.parse(lines[0] ?? "") as SnapshotHeader;
  if (format !== SNAPSHOT_FORMAT) {
    throw new Error(`its format is ${format}, this version reads ${SNAPSHOT_FORMAT}`);
  }
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
  state.apply(changes.map(fromChangeLine));
  const bytes = Buffer.byteLength(text) - Buffer.byteLength(rest ?? "");
  return { state, entities, changes: changes.length, bytes, isCut: rest !== "" };
}

/** The line of a change. */
export function toChangeLine(change: NodeChange): string {
  const json = JSON.stringify(change);
  return `${hashOf(json).slice(0, LINE_HASH_LENGTH)} ${json}\n`;
}

function fromChangeLine(line: string): NodeChange {
  const json = line.slice(LINE_HASH_LENGTH + 1);
  if (line.slice(0, LINE_HASH_LENGTH) !== hashOf(json).slice(0, LINE_HASH_LENGTH)) {
    throw new Error("the checksum of a change is wrong");
  }
  return JSON.parse(json);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
