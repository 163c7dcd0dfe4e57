// The followers of this control node. They report nothing by themselves: while a page is open they are asked once a
// second, with a heartbeat of the stream that they read anyway, and answer with a report. So all of them count the same
// second, whatever their clocks say, and without a page there is nothing to do.

import { after, readMs } from "../../base/clock.js";
import type { FeedServer } from "../../control/feed/feed-server.js";
import type { NodeLive } from "../../telemetry/live/node-second.js";
import { FleetNode } from "./fleet-node.js";

/** Followers that are asked in one second. Of more, each is asked in turn, every few seconds. */
const ASKED_MAX = 100;
/** How many of them may be those that pages have picked, so that the others have their turn. */
const PICKED_MAX = ASKED_MAX / 2;
/** How long a tick waits for what followers answer; what comes later is in the next one. */
const ANSWER_MS_MAX = 250;
/** A node is silent after this long without a report, or this many turns. */
const SILENT_MS = 5_000;
const SILENT_TURNS = 3;
/** The same of one that is no longer connected; it may be back in a moment. */
const GONE_MS = 2_500;
/** A node that is no longer connected is forgotten after this long. */
const FORGET_MS = 60_000;
const SECOND_MS = 1_000;

/** Asks followers, and keeps what they report, for as long as pages are open. */
export class Fleet {
  readonly #feed: FeedServer | undefined;
  readonly #nodes = new Map<string, FleetNode>();
  readonly #awaited = new Set<string>();
  #onAnswered: () => void = () => {};
  /** How long it takes until each has had its turn. */
  #turnMs = SECOND_MS;

  /** @param feed - Undefined on nodes that have no followers. */
  constructor(feed: FeedServer | undefined) {
    this.#feed = feed;
  }

  /** All followers that are connected, or were until a moment ago. */
  get nodes(): readonly FleetNode[] {
    return [...this.#nodes.values()];
  }

  /** A follower by its name. */
  find(name: string): FleetNode | undefined {
    return this.#nodes.get(name);
  }

  /** Whether a follower of this name is connected, or was until a moment ago. */
  has(name: string): boolean {
    return this.#nodes.has(name) || (this.#feed?.streams.has(name) ?? false);
  }

  /** Whether a follower has not reported for so long that its last numbers say nothing about now. */
  isSilent(node: FleetNode): boolean {
    if (!node.isConnected) return node.silentMs >= GONE_MS;
    return node.silentMs >= Math.max(SILENT_MS, SILENT_TURNS * this.#turnMs);
  }

  /**
   * Asks followers for what they did since they were last asked, and resolves when they have answered or a quarter of a
   * second has passed.
   *
   * @param picked - Names of those that are asked every time; of more than fifty, the rest is asked in turn.
   */
  async ask(picked: ReadonlySet<string>): Promise<void> {
    if (this.#feed === undefined) return;
    this.#feed.onLive = (name, live) => this.#take(name, live);
    this.#follow(this.#feed.streams.names());
    const asked = this.#inTurn(picked);
    this.#awaited.clear();
    this.#feed.streams.askLive((name) => {
      const node = asked.get(name);
      if (node === undefined) return undefined;
      // One that does not answer must not hold up the others.
      if (!this.isSilent(node)) this.#awaited.add(name);
      return { hasPast: node.past === undefined };
    });
    if (this.#awaited.size > 0) await this.#answers();
  }

  /** A tick has shown what was reported. */
  markShown(): void {
    for (const node of this.#nodes.values()) node.markShown();
  }

  /** Asks no more, and forgets everything. */
  forget(): void {
    if (this.#feed !== undefined) this.#feed.onLive = () => {};
    this.#nodes.clear();
    this.#awaited.clear();
    this.#onAnswered();
  }

  #follow(connected: ReadonlySet<string>): void {
    for (const name of connected)
      if (!this.#nodes.has(name)) this.#nodes.set(name, new FleetNode(name, readMs()));
    for (const [name, node] of this.#nodes) {
      node.isConnected = connected.has(name);
      if (!node.isConnected && node.silentMs >= FORGET_MS) this.#nodes.delete(name);
    }
  }

  /** Those that pages have picked, and those that were asked longest ago. */
  #inTurn(picked: ReadonlySet<string>): ReadonlyMap<string, FleetNode> {
    const connected = [...this.#nodes.values()]
      .filter(({ isConnected }) => isConnected)
      .sort((a, b) => a.askedMs - b.askedMs);
    const first = connected.filter(({ name }) => picked.has(name)).slice(0, PICKED_MAX);
    const waiting = Math.max(1, connected.length - first.length);
    this.#turnMs = Math.ceil(waiting / (ASKED_MAX - first.length)) * SECOND_MS;
    const asked = [...new Set([...first, ...connected])].slice(0, ASKED_MAX);
    for (const node of asked) node.askedMs = readMs();
    return new Map(asked.map((node) => [node.name, node]));
  }

  #take(name: string, live: NodeLive): void {
    const node = this.#nodes.get(name);
    // Without its past, it answers to what another process of this name was asked.
    if (node === undefined || (node.past === undefined && live.past === undefined)) return;
    node.take(live);
    this.#awaited.delete(name);
    if (this.#awaited.size === 0) this.#onAnswered();
  }

  #answers(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = after(ANSWER_MS_MAX, () => this.#onAnswered());
      this.#onAnswered = () => {
        cancel();
        resolve();
        this.#onAnswered = () => {};
      };
    });
  }
}
