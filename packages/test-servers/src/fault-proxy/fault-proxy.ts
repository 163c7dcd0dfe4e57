// A TCP proxy that breaks on command. It stands between a client and any server, and does what
// networks do: lose requests, or replies of requests that were executed, hang, crawl, cut, refuse.

import { connect, createServer, type Server, type Socket } from "node:net";
import { findFreePort, loopback } from "../free-port.js";
import type { Address } from "../redis/resp-connection.js";
import { FaultLink, type LinkOwner } from "./fault-link.js";
import type { Flow } from "./fault-pipe.js";

/** Options of `startFaultProxy`: the server that it stands in front of. */
export interface FaultProxyOptions {
  /** Port of the server. */
  readonly port: number;
  /** Address of the server. Default: 127.0.0.1. */
  readonly host?: string;
}

/** What went through a proxy since it started. */
export interface FaultCounters {
  /** Connections that clients opened. */
  readonly connections: number;
  /** Connections that are open now. */
  readonly connectionsOpen: number;
  /** Connections that a fault ended. */
  readonly connectionsCut: number;
  /** Bytes that went on to the server, and to clients. */
  readonly bytesToServer: number;
  readonly bytesToClient: number;
  /** Whole replies that were let through to clients, and that were swallowed. */
  readonly repliesPassed: number;
  readonly repliesDropped: number;
  /** Bytes of requests that were swallowed. */
  readonly requestBytesDropped: number;
  /** Times that a segment was lost and sent again. */
  readonly segmentsLost: number;
}

/** Options of `losePackets`. */
export interface PacketLoss {
  /** The share of segments that are lost, from 0 to below 1. */
  readonly chance: number;
  /** Draws a fraction from 0 to below 1; from a seed, if a test is to repeat. */
  readonly random: () => number;
  /** How long a segment that is not lost takes, each way. Default: 0. */
  readonly delayMs?: number;
}

// Where a client gives up on hung connections and opens others, the oldest ones stay open.
const connectionsMax = 10_000;
const listenTriesMax = 5;
// As Linux does: the shortest retransmission timeout, which each loss of the same segment doubles.
const retransmissionMs = 200;
const retransmissionsMax = 6;

/** Starts a proxy on a free loopback port that passes everything until it is made to fail. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const target = { host: options.host ?? loopback, port: options.port };
  for (let tries = 1; ; tries++) {
    const proxy = new FaultProxy(target, await findFreePort());
    try {
      await proxy.listen();
      return proxy;
    } catch (error) {
      if (tries >= listenTriesMax) throw error;
    }
  }
}

/** A running proxy. A new fault replaces the one before, except `refuse`, which adds to it. */
export class FaultProxy implements Address {
  readonly host: string = loopback;
  readonly port: number;
  readonly #target: Address;
  readonly #links = new Set<FaultLink>();
  #server: Server | undefined;
  #flow: Flow = passing;
  // The direction in which nothing goes while the other one passes.
  #heldTo: "server" | "client" | undefined;
  #isDroppingRequests = false;
  // Undefined: replies pass. How many more are swallowed before their connections are cut.
  #dropsLeft: number | undefined;
  // How many replies there are from one cut to the next; 0 for none.
  #cutEvery = 0;
  #repliesSinceCut = 0;
  readonly #counted = {
    connections: 0,
    connectionsCut: 0,
    bytesToServer: 0,
    bytesToClient: 0,
    repliesPassed: 0,
    repliesDropped: 0,
    requestBytesDropped: 0,
    segmentsLost: 0,
  };

  /** Use `startFaultProxy`. */
  constructor(target: Address, port: number) {
    this.#target = target;
    this.port = port;
  }

  /** A copy of the counters as they are now. */
  get counters(): FaultCounters {
    return { ...this.#counted, connectionsOpen: this.#links.size };
  }

  /** Holds everything back for `delayMs` milliseconds, each way: a round trip takes twice that. */
  delay(delayMs: number): void {
    this.#setFlow({ kind: "delay", delayMs: asCount("delayMs", delayMs, 0) });
  }

  /** Lets `bytes` bytes (default 1) through every `everyMs` milliseconds (default 1), each way. */
  trickle({ bytes = 1, everyMs = 1 }: { bytes?: number; everyMs?: number } = {}): void {
    asCount("bytes", bytes, 1);
    this.#setFlow({ kind: "trickle", bytes, everyMs: asCount("everyMs", everyMs, 0) });
  }

  /**
   * Nothing goes through, in either direction, and neither side is notified: connections stay open, new
   * ones open and hang. As in a real network, what was sent arrives late, after `heal`; a client
   * that has closed its connection by then has its requests executed regardless. With `to`, only what
   * goes there is held back, and the other direction passes.
   */
  partition({ to }: { to?: "server" | "client" } = {}): void {
    this.#setFlow(to === undefined ? holding : passing, to);
  }

  /**
   * Requests vanish, while replies to earlier ones still arrive and connections stay open. Those that
   * lost requests lose all that follow, and are cut by `heal`: half a request may have reached the server.
   */
  dropRequests(): void {
    this.#setFlow(passing);
    this.#isDroppingRequests = true;
  }

  /**
   * Loses segments of up to 1,460 bytes, each way. As TCP does, a lost one is sent again after 200 ms,
   * after twice as long if it is lost again, and so on; what was sent after it waits for it.
   */
  losePackets({ chance, random, delayMs = 0 }: PacketLoss): void {
    if (!(chance >= 0 && chance < 1))
      throw new RangeError(`chance must be from 0 to below 1, got ${String(chance)}`);
    const lostMs = () => {
      let [waitMs, losses] = [0, 0];
      while (losses < retransmissionsMax && random() < chance)
        waitMs += retransmissionMs * 2 ** losses++;
      this.#counted.segmentsLost += losses;
      return waitMs;
    };
    this.#setFlow({ kind: "lossy", delayMs: asCount("delayMs", delayMs, 0), lostMs });
  }

  /**
   * Requests reach the server and are executed, replies are swallowed. With `count`, after that
   * many replies the connections that lost some are cut and the proxy passes again; replies that
   * came in one piece with the last one are lost too. Without it, `heal` ends it.
   */
  dropReplies({ count = Number.POSITIVE_INFINITY }: { count?: number } = {}): void {
    if (count !== Number.POSITIVE_INFINITY) asCount("count", count, 1);
    this.#setFlow(passing);
    this.#dropsLeft = count;
  }

  /** Cuts the connection of every `replies`th reply instead of passing that reply on. */
  cutEvery(replies: number): void {
    this.#setFlow(passing);
    this.#cutEvery = asCount("replies", replies, 1);
    this.#repliesSinceCut = 0;
  }

  /** Ends all connections now, once: as a closed one, or with `reset` as ECONNRESET. */
  cut(how: "close" | "reset" = "close"): void {
    for (const link of this.#links) this.#cutLink(link, how);
  }

  /** Refuses new connections (ECONNREFUSED) from now on; those that are open stay as they are. */
  refuse(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /**
   * Passes everything again and accepts connections. What was held back continues; connections that
   * lost replies are cut, since later replies would be taken for the lost ones, and those that lost requests.
   */
  async heal(): Promise<void> {
    this.#setFlow(passing);
    for (const link of this.#links) if (link.hasLost) this.#cutLink(link, "close");
    if (this.#server === undefined) await this.listen();
  }

  /** Ends all connections and stops listening, for good. May be called again. */
  close(): void {
    this.refuse();
    for (const link of this.#links) link.cut("close");
  }

  /** Listens on the proxy's port; `startFaultProxy` and `heal` call it. */
  listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    server.maxConnections = connectionsMax;
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, this.host, resolve);
      // A proxy that was not closed does not keep a process alive.
      server.unref();
    });
  }

  #setFlow(flow: Flow, heldTo?: "server" | "client"): void {
    this.#flow = flow;
    this.#heldTo = heldTo;
    this.#isDroppingRequests = false;
    this.#dropsLeft = undefined;
    this.#cutEvery = 0;
    for (const link of this.#links) link.flowChanged();
  }

  #accept(client: Socket): void {
    this.#counted.connections++;
    const server = connect({ ...this.#target, allowHalfOpen: true });
    this.#links.add(new FaultLink(client, server, this.#owner));
  }

  readonly #owner: LinkOwner = {
    flow: (to) => (to === this.#heldTo ? holding : this.#flow),
    admitRequests: (link, bytes) => this.#admitRequests(link, bytes),
    admitReplies: (link, replies) => this.#admitReplies(link, replies),
    passedToServer: (bytes) => {
      this.#counted.bytesToServer += bytes;
    },
    passedToClient: (bytes) => {
      this.#counted.bytesToClient += bytes;
    },
    closed: (link) => this.#links.delete(link),
  };

  #admitRequests(link: FaultLink, bytes: number): boolean {
    if (this.#isDroppingRequests) link.hasLostRequests = true;
    if (link.hasLostRequests) this.#counted.requestBytesDropped += bytes;
    return !link.hasLostRequests;
  }

  #admitReplies(link: FaultLink, replies: number): boolean {
    const isCutDue = this.#isCutDue(replies);
    if (this.#dropsLeft === undefined && !isCutDue && !link.hasLostReplies) {
      this.#counted.repliesPassed += replies;
      return true;
    }
    this.#counted.repliesDropped += replies;
    if (this.#dropsLeft !== undefined) this.#drop(link, replies);
    if (isCutDue) this.#cutLink(link, "close");
    return false;
  }

  #drop(link: FaultLink, replies: number): void {
    link.hasLostReplies = true;
    this.#dropsLeft = (this.#dropsLeft ?? 0) - replies;
    if (this.#dropsLeft > 0) return;
    this.#dropsLeft = undefined;
    for (const each of this.#links) if (each.hasLostReplies) this.#cutLink(each, "close");
  }

  #isCutDue(replies: number): boolean {
    if (this.#cutEvery === 0) return false;
    this.#repliesSinceCut += replies;
    if (this.#repliesSinceCut < this.#cutEvery) return false;
    this.#repliesSinceCut = 0;
    return true;
  }

  #cutLink(link: FaultLink, how: "close" | "reset"): void {
    if (link.isCut) return;
    this.#counted.connectionsCut++;
    link.cut(how);
  }
}

const passing: Flow = { kind: "pass" };
const holding: Flow = { kind: "hold" };

function asCount(name: string, value: number, min: number): number {
  if (Number.isInteger(value) && value >= min) return value;
  throw new RangeError(`${name} must be a whole number from ${min}, got ${String(value)}`);
}
