// The connections to one backend: kept alive and reused, the latest first, so that surplus connections grow idle and
// close. There are at most `connectionsMax`; requests that find none free wait in a queue, which is bounded too.

import { BoundedMap } from "sluice";
import { ResponseHeadReader } from "sluice-http1";
import type { UpstreamConfig } from "../../config/config.js";
import type { ClientTls } from "./client-tls.js";
import { type ConnectionHost, type Timing, UpstreamConnection } from "./connection.js";
import { type FailureKind, notSent, type UpstreamCaller } from "./upstream-caller.js";

/** How often deadlines are checked, which is how late they can be noticed. */
export const TICK_MS = 100;
/** Shorter than the five seconds after which many servers close idle connections: no request should meet a closing one. */
const KEEP_MS = 4_000;

/** The part of an upstream's configuration that a pool needs. */
export type PoolConfig = Pick<
  UpstreamConfig,
  "connectTimeoutMs" | "responseTimeoutMs" | "idleTimeoutMs" | "connectionsMax" | "waitingMax"
>;

/** A caller that waits for a connection. */
export interface WaitingCaller extends UpstreamCaller {
  /** The connection that it waited for is here. */
  onConnection(connection: UpstreamConnection): void;
}

/** The connections to one backend. */
export class Pool implements ConnectionHost {
  readonly host: string;
  readonly port: number;
  readonly tls: ClientTls | undefined;
  readonly heads: ResponseHeadReader = new ResponseHeadReader();
  readonly timing: Timing;
  tick = 0;
  readonly #connectionsMax: number;
  readonly #waitingMax: number;
  readonly #connections = new Set<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];
  /** In order of arrival, each with the tick at which it has waited too long. Bounded by `waitingMax`. */
  readonly #waiting = new BoundedMap<WaitingCaller, number>(Number.POSITIVE_INFINITY);
  #connecting = 0;

  constructor(host: string, port: number, config: PoolConfig, tls?: ClientTls) {
    this.tls = tls;
    this.host = host;
    this.port = port;
    this.timing = toTiming(config);
    this.#connectionsMax = config.connectionsMax;
    this.#waitingMax = config.waitingMax;
  }

  /** Connections that exist. */
  get size(): number {
    return this.#connections.size;
  }

  /** Requests under way or waiting. */
  get load(): number {
    const busy = this.#connections.size - this.#connecting - this.#idle.length;
    return busy + this.#waiting.size;
  }

  /** Whether requests use or wait for half of the connections that are allowed, or more. */
  get isCrowded(): boolean {
    return 2 * this.load >= this.#connectionsMax;
  }

  /** A free connection; undefined if there is none: {@link wait} for one. */
  take(): UpstreamConnection | undefined {
    let free = this.#idle.pop();
    // A connection that is being closed is not free.
    while (free !== undefined && !free.isIdle) free = this.#idle.pop();
    return free;
  }

  /** Gets `caller` a new connection, or the next one that becomes free, and calls it back, also with a failure. */
  wait(caller: WaitingCaller): void {
    const isFull = this.#connections.size >= this.#connectionsMax;
    if (isFull && this.#waiting.size - this.#connecting >= this.#waitingMax) {
      caller.onFailure(
        notSent("busy", `${this.#waiting.size} requests are waiting for a connection already`),
      );
      return;
    }
    // One tick more than connecting may take, so that a failure to connect is reported first.
    this.#waiting.set(caller, this.tick + this.timing.connectTicks + 1);
    if (!isFull) this.#open();
  }

  /** `caller` stops waiting. */
  leave(caller: WaitingCaller): void {
    this.#waiting.delete(caller);
  }

  /** Call it every {@link TICK_MS}: ends what has taken too long. */
  onTick(): void {
    this.tick++;
    for (const connection of this.#connections) connection.checkDeadline();
    for (const [caller, deadline] of this.#waiting) {
      if (this.tick < deadline) break;
      this.#waiting.delete(caller);
      caller.onFailure(notSent("busy", "no connection became free in time"));
    }
  }

  /** Closes all connections, used or not. */
  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  onConnected(connection: UpstreamConnection): void {
    this.#connecting--;
    this.onIdle(connection);
  }

  onIdle(connection: UpstreamConnection): void {
    const caller = this.#nextWaiting();
    if (caller === undefined) this.#idle.push(connection);
    else caller.onConnection(connection);
  }

  onNotConnected(connection: UpstreamConnection, kind: FailureKind, detail: string): void {
    this.#connecting--;
    this.#connections.delete(connection);
    this.#nextWaiting()?.onFailure(notSent(kind, detail));
    this.#openForWaiting();
  }

  onClosed(connection: UpstreamConnection): void {
    this.#connections.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#openForWaiting();
  }

  #nextWaiting(): WaitingCaller | undefined {
    for (const [caller] of this.#waiting) {
      this.#waiting.delete(caller);
      return caller;
    }
    return undefined;
  }

  /** There is room again: those that waited for a connection to become free get new ones. */
  #openForWaiting(): void {
    const needed = this.#waiting.size - this.#connecting;
    if (needed > 0 && this.#connections.size < this.#connectionsMax) this.#open();
  }

  #open(): void {
    this.#connecting++;
    this.#connections.add(new UpstreamConnection(this));
  }
}

function toTiming(config: PoolConfig): Timing {
  return {
    connectTicks: toTicks(config.connectTimeoutMs),
    responseTicks: toTicks(config.responseTimeoutMs),
    idleTicks: toTicks(config.idleTimeoutMs),
    keepTicks: ticksIn(KEEP_MS),
    ticksIn,
  };
}

/** The ticks of at least that many milliseconds; 0 means no bound. */
function toTicks(ms: number): number {
  // One more, because the next tick may be due immediately.
  return ms === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ms / TICK_MS) + 1;
}

function ticksIn(ms: number): number {
  return Math.floor(ms / TICK_MS);
}
