// The stream of changes to one follower. It reads the lines of the hub at the pace of the follower, so that what waits
// in memory for a slow one is a piece or two, whether it is behind by ten thousand changes or by one long line.

import { readMs, wallMs } from "../../base/clock.js";
import type { StatePosition } from "../state/state.js";
import type { ChangeHub } from "./change-hub.js";
import { type Heartbeat, toLine } from "./feed-lines.js";

/** Where the lines of one follower go: a response. */
export interface FollowerSink {
  /** Bytes that wait to be sent. */
  readonly writableLength: number;
  /** False if it should not be written to until it has drained. */
  write(text: string): boolean;
  /** Ends it after what was written. */
  end(): unknown;
  /** Ends it now. */
  destroy(): unknown;
  on(event: "drain" | "close", listener: () => void): unknown;
}

/** What a follower reports about itself. */
export interface FollowerReport {
  /** Its name as configured. */
  readonly node: string;
  /** Made up by its process: several may be configured with one name. Empty from versions that send none. */
  readonly instance: string;
  /** The version of Sluice. */
  readonly version: string;
  /** The last change that it has applied. */
  readonly sequence: number;
}

/**
 * The name that the n-th node of a configured name is listed by: `web`, then `web~2`. No node can be configured with the
 * latter.
 */
export function toListedName(node: string, number: number): string {
  return number === 1 ? node : `${node}~${number}`;
}

/** A follower as `GET /v1/nodes` shows it. */
export interface FollowerStatus extends FollowerReport {
  /** The name that it is listed by, which no other follower here has. */
  readonly name: string;
  readonly connectedAtMs: number;
  /** When it last reported. */
  readonly seenAtMs: number;
}

/** A follower that asks for changes. */
export interface NewFollower {
  readonly sink: FollowerSink;
  /** The last change that it has. */
  readonly position: StatePosition;
  readonly report: FollowerReport;
  /** What its access token is known by. */
  readonly token: string;
  /** Whether that token still opens the stream: it may expire or be revoked. Default: it always does. */
  readonly isAuthorized?: (() => boolean) | undefined;
}

/** A follower with the name that it is listed by. */
export interface NamedFollower extends NewFollower {
  readonly name: string;
}

/** What a stream asks of all streams. */
export interface StreamOwner {
  readonly hub: ChangeHub;
  /** Whether there is memory for another piece. */
  readonly hasRoom: boolean;
  /** Other bytes wait than before. */
  waitingChanged(byBytes: number): void;
}

/** What a heartbeat may ask for. */
export type HeartbeatAsk = Pick<Heartbeat["heartbeat"], "live" | "ask">;

/** What is written in one call: a longer line goes out in pieces. */
export const PIECE_LENGTH = 64 << 10;

/** Sends changes until it is closed. */
export class FollowerStream {
  readonly token: string;
  /** Whether its access token still opens it. */
  readonly isAuthorized: () => boolean;
  status: FollowerStatus;
  readonly #sink: FollowerSink;
  readonly #owner: StreamOwner;
  /** The last change of what was taken from the hub. */
  #position: StatePosition;
  /** Lines that are being written, and how much of them was; empty between lines. */
  #text = "";
  #written = 0;
  #isFull = false;
  #waitingBytes = 0;
  #progressMs = readMs();
  #isOpen = true;
  /** The first heartbeat comes when the follower has all changes. */
  #hasBeaten = false;
  /** Whether changes were sent since the last beat. */
  #hasSent = false;

  constructor(
    { sink, position, report, token, name, isAuthorized = () => true }: NamedFollower,
    owner: StreamOwner,
  ) {
    this.token = token;
    this.isAuthorized = isAuthorized;
    this.#sink = sink;
    this.#owner = owner;
    this.#position = position;
    const nowMs = wallMs();
    this.status = { ...report, name, connectedAtMs: nowMs, seenAtMs: nowMs };
    sink.on("drain", () => this.#drained());
  }

  /** Bytes that wait for this follower. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** How long something has waited without any of it being sent; 0 if nothing waits. */
  get stalledMs(): number {
    return this.#isOpen && this.#waitingBytes > 0 ? readMs() - this.#progressMs : 0;
  }

  /** Writes what the follower has not been sent, as far as it reads and there is memory. */
  advance(): void {
    while (this.#isOpen && !this.#isFull && this.#owner.hasRoom) {
      if (this.#text === "" && !this.#takeNext()) return;
      this.#hasSent = true;
      this.#write(this.#nextPiece());
    }
  }

  /** Writes a heartbeat, unless changes were sent since the last or are on their way: those are a sign of life too. */
  beat(): void {
    this.#look();
    this.advance();
    const isBusy = this.#isFull || this.#text !== "" || this.#hasSent;
    this.#hasSent = false;
    if (this.#isOpen && !isBusy) this.#write(this.#toHeartbeat());
  }

  /** Asks the follower something. False if it can't be asked now: it has still to read. */
  ask(asked: HeartbeatAsk): boolean {
    this.#look();
    this.advance();
    if (!this.#isOpen || this.#isFull || this.#text !== "") return false;
    this.#write(this.#toHeartbeat(asked));
    return true;
  }

  /** Ends it now: the follower comes back and continues where it was. */
  close(): void {
    this.forget();
    this.#sink.destroy();
  }

  /** Its connection has ended. */
  forget(): void {
    this.#isOpen = false;
    this.#count(0);
  }

  /** Takes lines from the hub. False if there are none, or the follower has to load a snapshot. */
  #takeNext(): boolean {
    const next = this.#owner.hub.nextAfter(this.#position, PIECE_LENGTH);
    if (next === undefined) {
      this.#sink.write(toLine({ gap: "changes are not at hand" }));
      this.#sink.end();
      this.#isOpen = false;
      return false;
    }
    this.#text = next.text;
    this.#position = next.position;
    if (next.text !== "") return true;
    if (!this.#hasBeaten) this.#write(this.#toHeartbeat());
    return false;
  }

  #nextPiece(): string {
    const [text, begin] = [this.#text, this.#written];
    const end = endOfPiece(text, begin);
    const isLast = end === text.length;
    this.#text = isLast ? "" : text;
    this.#written = isLast ? 0 : end;
    return begin === 0 && isLast ? text : text.slice(begin, end);
  }

  #write(text: string): void {
    this.#look();
    this.#isFull = !this.#sink.write(text);
    this.#count(this.#sink.writableLength);
  }

  #drained(): void {
    if (!this.#isOpen) return;
    this.#isFull = false;
    this.#look();
    this.advance();
  }

  /** Looks how much still waits: less than before is progress. */
  #look(): void {
    const waitingBytes = this.#sink.writableLength;
    if (waitingBytes === 0 || waitingBytes < this.#waitingBytes) this.#progressMs = readMs();
    this.#count(waitingBytes);
  }

  #count(waitingBytes: number): void {
    const byBytes = waitingBytes - this.#waitingBytes;
    this.#waitingBytes = waitingBytes;
    if (byBytes !== 0) this.#owner.waitingChanged(byBytes);
  }

  #toHeartbeat(asked: HeartbeatAsk = {}): string {
    this.#hasBeaten = true;
    const { sequence } = this.#owner.hub.position;
    return toLine({ heartbeat: { sequence, atMs: wallMs(), ...asked } });
  }
}

/** Where a piece that begins at `begin` ends: not between the halves of a character. */
export function endOfPiece(text: string, begin: number): number {
  const end = begin + PIECE_LENGTH;
  if (end >= text.length) return text.length;
  const isHalf = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHalf ? end - 1 : end;
}
