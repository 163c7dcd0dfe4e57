// The streams of changes to followers, as a control node serves them. Each change is text once and written to all,
// some followers at a time, so that a thousand of them don't hold up decisions. One that reads too slowly is cut off:
// it comes back and goes on where it was.

import { atEndOfTurn, every, wallMs } from "../../base/clock.js";
import type { Unsubscribe } from "../database/database.js";
import type { Position } from "../state/state.js";
import type { ChangeHub } from "./change-hub.js";
import { toLine } from "./feed-lines.js";

/** Where the lines of one follower go: a response. */
export interface FollowerSink {
  /** Bytes that wait to be sent. */
  readonly writableLength: number;
  write(text: string): unknown;
  /** Ends it after what was written. */
  end(): unknown;
  /** Ends it now. */
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Who follows. */
export interface FollowerReport {
  readonly node: string;
  /** Of Sluice. */
  readonly version: string;
  /** The last change that it has applied. */
  readonly sequence: number;
}

/** A follower as `GET /v1/nodes` shows it. */
export interface FollowerStatus extends FollowerReport {
  readonly connectedAtMs: number;
  /** When it last reported. */
  readonly seenAtMs: number;
}

/** Followers at a time; further ones are refused. */
export const FOLLOWERS_MAX = 4_000;
/** What may wait to be sent to one follower beyond what it asked for first. */
const WAITING_BYTES_MAX = 4 << 20;
const HEARTBEAT_MS = 1_000;
/** Heartbeats are spread over this many turns of a second. */
const HEARTBEAT_TURNS = 20;
/** Followers that are written to before others have their turn. */
const AT_A_TIME = 25;

interface Stream {
  readonly sink: FollowerSink;
  /** What was sent. */
  position: Position;
  status: FollowerStatus;
  isOpen: boolean;
}

/** All streams of a node. */
export class FollowerStreams {
  readonly #hub: ChangeHub;
  readonly #streams = new Set<Stream>();
  readonly #stopHub: Unsubscribe;
  readonly #stopBeating: () => void;
  #isSending = false;
  #isBehind = false;
  #turn = 0;
  #cutOff = 0;

  constructor(hub: ChangeHub) {
    this.#hub = hub;
    this.#stopHub = hub.subscribe(() => this.#send());
    this.#stopBeating = every(HEARTBEAT_MS / HEARTBEAT_TURNS, () => this.#beat());
  }

  /** How many follow. */
  get count(): number {
    return this.#streams.size;
  }

  /** How many were cut off because they read too slowly. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Who follows, by name. */
  list(): FollowerStatus[] {
    const all = [...this.#streams].map(({ status }) => status);
    return all.sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  /** Sends the changes after a position to a follower, and what comes after them. */
  add(sink: FollowerSink, position: Position, report: FollowerReport): void {
    const nowMs = wallMs();
    const status = { ...report, connectedAtMs: nowMs, seenAtMs: nowMs };
    const stream: Stream = { sink, position, status, isOpen: true };
    this.#streams.add(stream);
    sink.once("close", () => this.#remove(stream));
    if (this.#advance(stream) && stream.isOpen) sink.write(this.#toHeartbeat());
  }

  /** What a follower has applied by now. Unknown ones are ignored: their stream has just ended. */
  report(report: FollowerReport): void {
    for (const stream of this.#streams) {
      if (stream.status.node !== report.node) continue;
      stream.status = { ...stream.status, ...report, seenAtMs: wallMs() };
    }
  }

  /** Ends all streams. */
  close(): void {
    this.#stopHub();
    this.#stopBeating();
    for (const { sink } of this.#streams) sink.destroy();
    this.#streams.clear();
  }

  #send(): void {
    this.#isBehind = true;
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#sendAll().finally(() => {
      this.#isSending = false;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#isBehind) {
      this.#isBehind = false;
      let count = 0;
      for (const stream of this.#streams) {
        this.#advance(stream);
        if (++count % AT_A_TIME === 0) await new Promise<void>((resolve) => atEndOfTurn(resolve));
      }
    }
  }

  /** Writes what a follower has not been sent. False if it has to load a snapshot, and its stream ends. */
  #advance(stream: Stream): boolean {
    const lines = this.#hub.linesAfter(stream.position);
    if (lines === undefined) {
      stream.sink.write(toLine({ gap: "changes are not at hand" }));
      stream.sink.end();
      this.#remove(stream);
      return false;
    }
    if (lines.length === 0) return true;
    if (this.#isTooSlow(stream)) return false;
    stream.sink.write(lines.length === 1 ? (lines[0] ?? "") : lines.join(""));
    stream.position = this.#hub.position;
    return true;
  }

  #beat(): void {
    this.#turn = (this.#turn + 1) % HEARTBEAT_TURNS;
    const line = this.#toHeartbeat();
    let at = 0;
    for (const stream of this.#streams) {
      if (at++ % HEARTBEAT_TURNS !== this.#turn) continue;
      if (!this.#isTooSlow(stream)) stream.sink.write(line);
    }
  }

  #isTooSlow(stream: Stream): boolean {
    if (stream.sink.writableLength <= WAITING_BYTES_MAX) return false;
    this.#cutOff++;
    stream.sink.destroy();
    this.#remove(stream);
    return true;
  }

  #remove(stream: Stream): void {
    stream.isOpen = false;
    this.#streams.delete(stream);
  }

  #toHeartbeat(): string {
    return toLine({ heartbeat: { sequence: this.#hub.position.sequence, atMs: wallMs() } });
  }
}
