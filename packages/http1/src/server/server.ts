// A server for HTTP/1.1 over plain sockets or TLS, for requests that take less time to answer than node:http takes to wrap
// them (benches service/decide, service/reject, service/gateway-node). It is as strict as Node's parser and in places
// stricter. A handler answers the requests.

import { createServer, type Server, type Socket } from "node:net";
import { atEndOfTurn, type CancelTimer, every, wallMs } from "../clock.js";
import type { RefusalStatus } from "../message/malformed-message.js";
import { Arrivals } from "./arrivals.js";
import { ClientConnection, type ClientTiming, type ConnectionServer } from "./client-connection.js";
import type { Exchange } from "./exchange.js";

/** The bounds of a server. Times are in milliseconds. */
export interface Http1Bounds {
  readonly headBytesMax: number;
  readonly fieldsMax: number;
  /** How long a head may take to arrive. */
  readonly headMsMax: number;
  /** How long a whole request may take to arrive; 0 means no bound. */
  readonly requestMsMax: number;
  /** How long an idle connection is kept; 0 means no bound. */
  readonly keepAliveMs: number;
  readonly connectionsMax: number;
}

/** What answers requests. */
export interface Http1Handler {
  /** Called with each request. It must not throw. */
  onExchange(exchange: Exchange): void;
  /** As {@link ConnectionServer.toRefusal}. */
  toRefusal(status: RefusalStatus, target: string): string;
}

const TICK_MS = 100;
const LINGER_MS = 2_000;
const DRAIN_GRACE_MS = 500;
const SECOND_MS = 1_000;

/** An HTTP/1.1 server. */
export class Http1Server implements ConnectionServer {
  readonly headBytesMax: number;
  readonly fieldsMax: number;
  readonly timing: ClientTiming;
  readonly keepAliveLines: string;
  tick = 0;
  drainingSince = Number.POSITIVE_INFINITY;
  /** Accepts the connections: `server.netServer.listen(8080)`. */
  readonly netServer: Server;
  readonly #handler: Http1Handler;
  readonly #closed: Promise<void>;
  readonly #connections = new Set<ClientConnection>();
  /** All open sockets, including those in a TLS handshake. */
  readonly #sockets = new Set<Socket>();
  #stopTicks: CancelTimer = () => {};
  #date = "";
  #dateUntilMs = 0;

  /** @param server - A server of node:tls that accepts the connections; default: plain sockets. */
  constructor(bounds: Http1Bounds, handler: Http1Handler, server?: Server) {
    this.headBytesMax = bounds.headBytesMax;
    this.fieldsMax = bounds.fieldsMax;
    this.timing = toTiming(bounds);
    this.keepAliveLines = toKeepAliveLines(bounds.keepAliveMs);
    this.#handler = handler;
    this.netServer = server ?? createServer({ noDelay: true, pauseOnConnect: true });
    this.netServer.maxConnections = bounds.connectionsMax;
    this.netServer.on("connection", (socket: Socket) => this.#keep(socket));
    const serve = (socket: Socket) => this.#serve(socket);
    if (server === undefined) {
      const arrivals = new Arrivals(serve);
      this.netServer.on("connection", (socket: Socket) => arrivals.add(socket));
    } else this.netServer.on("secureConnection", serve);
    // At the end of a turn of the event loop: when a busy loop gets round to this, a request may have arrived that was not
    // handled yet, and its connection must not be taken for idle.
    this.netServer.once("listening", () => {
      this.#stopTicks = every(TICK_MS, () => atEndOfTurn(() => this.#onTick()));
    });
    this.#closed = new Promise((resolve) => {
      this.netServer.once("close", () => {
        this.#stopTicks();
        resolve();
      });
    });
  }

  get isDraining(): boolean {
    return this.tick >= this.drainingSince;
  }

  /** Accepts no further connections; open ones go on as before. */
  stopListening(): void {
    if (this.netServer.listening) this.netServer.close();
  }

  /** Accepts no further connections, and resolves when the open ones have ended with their requests. */
  drain(): Promise<void> {
    this.stopListening();
    this.drainingSince = Math.min(this.drainingSince, this.tick);
    return this.#closed;
  }

  /** Closes everything immediately. */
  close(): Promise<void> {
    this.stopListening();
    for (const socket of this.#sockets) socket.destroy();
    return this.#closed;
  }

  dateLine(): string {
    const nowMs = wallMs();
    if (nowMs >= this.#dateUntilMs || nowMs < this.#dateUntilMs - SECOND_MS) {
      const secondMs = nowMs - (nowMs % SECOND_MS);
      this.#dateUntilMs = secondMs + SECOND_MS;
      this.#date = `Date: ${new Date(secondMs).toUTCString()}\r\n`;
    }
    return this.#date;
  }

  toRefusal(status: RefusalStatus, target: string): string {
    return this.#handler.toRefusal(status, target);
  }

  onExchange(exchange: Exchange): void {
    this.#handler.onExchange(exchange);
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
  }

  #serve(socket: Socket): void {
    // The client has reset the connection: what it sent can still be read, but its address is unknown.
    if (socket.remoteAddress === undefined) socket.destroy();
    if (socket.destroyed) return;
    this.#connections.add(new ClientConnection(socket, this));
    socket.resume();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #onTick(): void {
    this.tick++;
    for (const connection of this.#connections) connection.onTick();
  }
}

/** Without a bound there is no `timeout`: with `timeout=0` clients would never reuse a connection. */
function toKeepAliveLines(keepAliveMs: number): string {
  const seconds = Math.floor(keepAliveMs / SECOND_MS);
  const bound = keepAliveMs === 0 ? "" : `Keep-Alive: timeout=${seconds}\r\n`;
  return `Connection: keep-alive\r\n${bound}`;
}

function toTiming({ headMsMax, requestMsMax, keepAliveMs }: Http1Bounds): ClientTiming {
  const isBounded = requestMsMax > 0 && requestMsMax < headMsMax;
  return {
    headTicks: toTicks(isBounded ? requestMsMax : headMsMax),
    requestTicks: toTicks(requestMsMax),
    keepTicks: toTicks(keepAliveMs),
    lingerTicks: toTicks(LINGER_MS),
    graceTicks: toTicks(DRAIN_GRACE_MS),
    toTicks,
  };
}

/** The ticks of at least this many milliseconds; 0 means no bound. */
function toTicks(ms: number): number {
  // One more, because the next tick may be due immediately.
  return ms === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ms / TICK_MS) + 1;
}
