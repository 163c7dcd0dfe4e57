// The streams of changes to followers, as a control node serves them. Each change is serialised once and written to
// all, some followers at a time, so that a thousand of them don't hold up decisions. The memory that waits for all of
// them together is bounded: a follower that has read nothing for long is disconnected, the slowest first if memory
// runs short. It reconnects and continues where it was.

import { every, nextTurn, wallMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Unsubscribe } from "../../database/database.js";
import type { ChangeHub } from "./change-hub.js";
import type { LiveAsk } from "./feed-lines.js";
import {
  type FollowerReport,
  type FollowerStatus,
  FollowerStream,
  type NewFollower,
  type StreamOwner,
  toListedName,
} from "./follower-stream.js";
import type { NodeAsk } from "./node-question.js";

/** What followers may take of a control node. */
export interface FollowerBounds {
  /** Streams at a time; further ones are refused. Default 4,000. */
  readonly streamsMax: number;
  /** Streams of one access token, so that one that leaks can't take all. Default 2,000. */
  readonly tokenStreamsMax: number;
  /** Bytes that may wait to be sent to all followers together. Default 64 MiB. */
  readonly waitingBytesMax: number;
  /** How long a follower may take none of what waits for it. Default 15,000. */
  readonly stallMsMax: number;
  /** The same when memory is short. Default 1,000. */
  readonly shortStallMsMax: number;
}

const BOUNDS: FollowerBounds = {
  streamsMax: 4_000,
  tokenStreamsMax: 2_000,
  waitingBytesMax: 64 << 20,
  stallMsMax: 15_000,
  shortStallMsMax: 1_000,
};
const HEARTBEAT_MS = 1_000;
/** Heartbeats are spread over this many turns of a second. */
const HEARTBEAT_TURNS = 20;
/** Followers that are written to before others have their turn. */
const AT_A_TIME = 25;

/** All streams of a node. */
export class FollowerStreams implements StreamOwner {
  readonly hub: ChangeHub;
  readonly #bounds: FollowerBounds;
  readonly #streams = new Set<FollowerStream>();
  /** By the names that they are listed by. */
  readonly #names = new Map<string, FollowerStream>();
  /** Called with a name that a follower has in common with another, and the one that it is listed by instead. */
  onSharedName: (node: string, name: string) => void = () => {};
  readonly #stopHub: Unsubscribe;
  readonly #stopBeating: () => void;
  #waitingBytes = 0;
  #isShort = false;
  #isSending = false;
  #isBehind = false;
  #turn = 0;
  #cutOff = 0;

  constructor(hub: ChangeHub, bounds: Partial<FollowerBounds> = {}) {
    this.hub = hub;
    this.#bounds = { ...BOUNDS, ...bounds };
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

  /** Bytes that wait to be sent to all followers together. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether another piece may wait. */
  get hasRoom(): boolean {
    const hasRoom = this.#waitingBytes < this.#bounds.waitingBytesMax;
    if (!hasRoom) this.#isShort = true;
    return hasRoom;
  }

  /** The followers, by name. */
  list(): FollowerStatus[] {
    const all = [...this.#streams].map(({ status }) => status);
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The names that followers are listed by. */
  names(): ReadonlySet<string> {
    return new Set(this.#names.keys());
  }

  /** Whether a node is listed by this name. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Asks followers what they do. @param askOf - By the name of a node; undefined asks it nothing. */
  askLive(askOf: (name: string) => LiveAsk | undefined): void {
    for (const stream of this.#streams) {
      const ask = askOf(stream.status.name);
      if (ask !== undefined) stream.ask({ live: ask });
    }
  }

  /** Asks one follower a question. False if it can't be asked now. */
  askNode(name: string, ask: NodeAsk): boolean {
    return this.#names.get(name)?.ask({ ask }) ?? false;
  }

  /**
   * Whether a follower with a token may be added.
   *
   * @throws ServerError `SLUICE_CONTROL_UNAVAILABLE` if there are too many, of this token or of all.
   */
  mustHavePlace(token: string): void {
    const { streamsMax, tokenStreamsMax } = this.#bounds;
    if (this.#streams.size >= streamsMax) throw full(`there are ${streamsMax} followers`);
    let ofToken = 0;
    for (const stream of this.#streams) if (stream.token === token) ofToken++;
    if (ofToken < tokenStreamsMax) return;
    throw full(`${tokenStreamsMax} followers use this access token; give others one of their own`);
  }

  /** Sends the changes after a position to a follower, and what comes after them. */
  add(follower: NewFollower): void {
    this.#endEarlier(follower);
    const name = this.#freeName(follower.report.node);
    const stream = new FollowerStream({ ...follower, name }, this);
    this.#streams.add(stream);
    this.#names.set(name, stream);
    if (name !== follower.report.node) this.onSharedName(follower.report.node, name);
    follower.sink.on("close", () => {
      stream.forget();
      this.#remove(stream);
    });
    stream.advance();
  }

  /**
   * What a follower has applied by now. Unknown ones are ignored: their stream has just ended, or has another token.
   *
   * @returns The name that the follower is listed by; undefined if no stream of it is open with this token.
   */
  report(report: FollowerReport, token: string): string | undefined {
    for (const stream of this.#streams) {
      if (!isSameNode(stream.status, report) || stream.token !== token) continue;
      stream.status = { ...stream.status, ...report, seenAtMs: wallMs() };
      return stream.status.name;
    }
    return undefined;
  }

  /** Counts what waits. When memory was short and is there again, those that had to wait get the rest. */
  waitingChanged(byBytes: number): void {
    this.#waitingBytes += byBytes;
    if (!this.#isShort || this.#waitingBytes > this.#bounds.waitingBytesMax / 2) return;
    this.#isShort = false;
    this.#send();
  }

  /** Ends all streams. */
  close(): void {
    this.#stopHub();
    this.#stopBeating();
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    this.#names.clear();
  }

  /** A process that connects again may have left a connection that nothing has ended yet. */
  #endEarlier({ report, token }: NewFollower): void {
    if (report.instance === "") return;
    for (const stream of this.#streams) {
      if (!isSameNode(stream.status, report) || stream.token !== token) continue;
      this.#end(stream);
    }
  }

  /** The name as configured, or with the first number that is free. */
  #freeName(node: string): string {
    let number = 1;
    while (this.#names.has(toListedName(node, number))) number++;
    return toListedName(node, number);
  }

  /** Its name goes to another follower that is configured with it. */
  #remove(stream: FollowerStream): void {
    if (!this.#streams.delete(stream)) return;
    const { name, node } = stream.status;
    this.#names.delete(name);
    if (name !== node) return;
    for (const other of this.#names.values()) {
      if (other.status.node !== node) continue;
      this.#names.delete(other.status.name);
      other.status = { ...other.status, name };
      this.#names.set(name, other);
      return;
    }
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
        stream.advance();
        if (++count % AT_A_TIME === 0) await nextTurn();
      }
    }
  }

  #beat(): void {
    this.#turn = (this.#turn + 1) % HEARTBEAT_TURNS;
    if (this.#isShort) this.#makeRoom();
    let at = 0;
    for (const stream of this.#streams) {
      if (at++ % HEARTBEAT_TURNS !== this.#turn) continue;
      if (!stream.isAuthorized()) {
        this.#end(stream);
        continue;
      }
      stream.beat();
      if (stream.stalledMs >= this.#bounds.stallMsMax) this.#cut(stream);
    }
  }

  /** Cuts off those that have stalled for longest, until half of the memory is there again. */
  #makeRoom(): void {
    const { waitingBytesMax, shortStallMsMax } = this.#bounds;
    const stalled = [...this.#streams]
      .filter(({ stalledMs }) => stalledMs >= shortStallMsMax)
      .sort((a, b) => b.stalledMs - a.stalledMs);
    for (const stream of stalled) {
      if (this.#waitingBytes <= waitingBytesMax / 2) return;
      this.#cut(stream);
    }
  }

  #cut(stream: FollowerStream): void {
    this.#cutOff++;
    this.#end(stream);
  }

  #end(stream: FollowerStream): void {
    this.#remove(stream);
    stream.close();
  }
}

function isSameNode(one: FollowerReport, other: FollowerReport): boolean {
  return one.node === other.node && one.instance === other.instance;
}

function full(seen: string): ServerError {
  return new ServerError("SLUICE_CONTROL_UNAVAILABLE", `${seen}; try again in a moment`);
}
