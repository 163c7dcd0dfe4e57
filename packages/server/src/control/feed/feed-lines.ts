// The lines that a control node sends to its followers, one JSON value each. A snapshot is a header, entities and an
// end; the stream of changes has the changes, and a heartbeat every second. They are the same over HTTP and between
// processes.

import { isRecord } from "sluice/shapes";
import { ServerError, show } from "../../base/errors.js";
import type { NodeChange, NodeEntity, Snapshot } from "../state/state.js";
import type { NodeAsk } from "./node-question.js";

/** The media type of both. */
export const FEED_TYPE = "application/x-ndjson";

/** The first line of a snapshot. */
export interface FeedSnapshotHeader {
  readonly format: number;
  readonly sequence: number;
  readonly hash: string;
}

/** The last line of a snapshot, by which a whole one is known. */
export interface SnapshotEnd {
  readonly end: number;
}

/** What a control node asks a follower for. */
export interface LiveAsk {
  /** Whether it wants the last minutes first. */
  readonly hasPast: boolean;
}

/** A line of the stream that is not a change. */
export interface Heartbeat {
  readonly heartbeat: {
    /** The last change that the control node has. */
    readonly sequence: number;
    /** Its wall clock. */
    readonly atMs: number;
    /** Asks for what the follower did since it was last asked: a page is open. Older followers don't answer. */
    readonly live?: LiveAsk;
    /** A question of an operator. Older followers don't answer. */
    readonly ask?: NodeAsk;
  };
}

/** The line that says that changes are no longer available; nothing comes after it. */
export interface GapLine {
  readonly gap: string;
}

/** A line of the stream. */
export type StreamLine = NodeChange | Heartbeat | GapLine;

/** The version of these lines. */
export const FEED_FORMAT = 1;
/** The longest line: a rule set of 2 Mi characters, each of which may take six in JSON, with room to spare. */
export const LINE_LENGTH_MAX = 32 << 20;

/** A value as a line. */
export function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/**
 * Splits pieces of a stream into lines.
 *
 * @throws ServerError `SLUICE_CONTROL_UNAVAILABLE` if a line is longer than {@link LINE_LENGTH_MAX}.
 */
export class LineSplitter {
  #begun: string[] = [];
  #length = 0;

  /** The lines that are whole with this piece, without their line breaks. */
  add(piece: string): string[] {
    const lines = piece.split("\n");
    const rest = lines.pop() ?? "";
    if (lines.length > 0) {
      lines[0] = this.#begun.join("") + lines[0];
      this.#begun = [];
      this.#length = 0;
    }
    if (rest !== "") this.#begun.push(rest);
    this.#length += rest.length;
    if (this.#length > LINE_LENGTH_MAX)
      throw unreadable(`a line of over ${LINE_LENGTH_MAX} characters`);
    return lines;
  }
}

/** Reads a line of the stream. */
export function readStreamLine(line: string): StreamLine {
  const value = parse(line) as Partial<NodeChange & Heartbeat & GapLine>;
  const isHeartbeat = isSequence(value.heartbeat?.sequence);
  if (isChange(value) || typeof value.gap === "string" || isHeartbeat) return value as StreamLine;
  throw unreadable(`the line ${show(line)}`);
}

function isChange({ sequence, kind, entityId, after }: Partial<NodeChange>): boolean {
  const isNamed = typeof kind === "string" && typeof entityId === "string";
  return isSequence(sequence) && isNamed && (after === undefined || isRecord(after));
}

function isEntity({ sequence, kind, id, body }: Partial<NodeEntity>): boolean {
  const isNamed = typeof kind === "string" && typeof id === "string";
  return isSequence(sequence) && isNamed && isRecord(body);
}

function isHeader({ sequence, hash }: Partial<FeedSnapshotHeader>): boolean {
  return isSequence(sequence) && typeof hash === "string";
}

function isSequence(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Puts the lines of a snapshot together again. */
export class SnapshotReader {
  readonly #entities: NodeEntity[] = [];
  #header: FeedSnapshotHeader | undefined;
  #isWhole = false;

  /** Takes the next line. */
  add(line: string): void {
    const value = parse(line) as Partial<FeedSnapshotHeader & SnapshotEnd>;
    if (this.#header === undefined) {
      if (value.format !== FEED_FORMAT)
        throw unreadable(
          `a snapshot of format ${show(value.format)}, and this version reads ${FEED_FORMAT}`,
        );
      if (!isHeader(value)) throw unreadable(`the line ${show(line)}`);
      this.#header = value as FeedSnapshotHeader;
    } else if (value.end !== undefined) this.#isWhole = value.end === this.#entities.length;
    else if (isEntity(value as Partial<NodeEntity>)) this.#entities.push(value as NodeEntity);
    // A state is replaced as a whole: what can't be used must not cost the one that is there.
    else throw unreadable(`the line ${show(line)}`);
  }

  /** The snapshot. @throws ServerError `SLUICE_CONTROL_UNAVAILABLE` if it is not whole. */
  finish(): Snapshot {
    if (this.#header === undefined || !this.#isWhole)
      throw unreadable("a snapshot that is cut off");
    const { sequence, hash } = this.#header;
    return { sequence, hash, entities: this.#entities };
  }
}

function parse(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Below, with what was seen.
  }
  throw unreadable(`the line ${show(line)}`);
}

function unreadable(seen: string): ServerError {
  const hint = "check that control.follow is the admin port of a control node";
  return new ServerError("SLUICE_CONTROL_UNAVAILABLE", `it sent ${seen}; ${hint}`);
}
