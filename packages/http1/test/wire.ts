// A connection without a network: the server's end of it, to which a test hands bytes in pieces of its own
// choosing, and a server for it whose ticks the test counts.

import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { ClientConnection, type ConnectionServer } from "../src/server/client-connection.js";
import type { Exchange } from "../src/server/exchange.js";

/** The server's end of a connection. As a socket it ends when the other end does. */
export class Wire extends Duplex {
  readonly remoteAddress = "192.0.2.1";
  /** All that was sent to the client, one character for each byte. */
  written = "";
  #isRead = true;
  /** What waits for the client to read. */
  #piece: Buffer | undefined = undefined;
  #done: () => void = () => {};

  constructor() {
    super({ allowHalfOpen: false });
  }

  override _read(): void {}

  override _write(piece: Buffer, _encoding: unknown, done: () => void): void {
    this.#piece = piece;
    this.#done = done;
    if (this.#isRead) this.#flush();
  }

  /** As with a socket, what waits is given up. */
  override _destroy(error: Error | null, onDestroyed: (error: Error | null) => void): void {
    this.#piece = undefined;
    this.#flush();
    onDestroyed(error);
  }

  /** Hands over bytes, one for each character. */
  arrive(text: string): this {
    if (text !== "") this.push(Buffer.from(text, "latin1"));
    return this;
  }

  /** The client reads no more, or continues. */
  set isRead(isRead: boolean) {
    this.#isRead = isRead;
    if (isRead) this.#flush();
  }

  #flush(): void {
    const done = this.#done;
    this.#done = () => {};
    if (this.#piece !== undefined) this.written += this.#piece.toString("latin1");
    this.#piece = undefined;
    done();
  }
}

/** What a server is made of here, beside the usual. */
export interface WireServer extends Partial<ConnectionServer> {
  onExchange(exchange: Exchange): void;
}

/** Resolves when all that was handed over so far has been looked at. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 6; turns++) await new Promise((resolve) => setImmediate(resolve));
}

/** A string in pieces, cut at some places in ascending order. */
export function cut(text: string, ...places: readonly number[]): string[] {
  return [0, ...places].map((place, i) => text.slice(place, places[i] ?? text.length));
}

/** Ticks that a connection may take for something; a tick is a millisecond. */
export const TICKS = { head: 10, request: 20, keep: 30, linger: 5, grace: 3 };

/** A wire that is served. */
export interface Served {
  readonly connection: ClientConnection;
  /** Lets ticks pass. */
  tick(count: number): void;
  /** From now on connections are closed after their response. */
  drain(): void;
}

/** Gives a wire to a server with 16 KiB for heads and 200 fields. */
export function serve(wire: Wire, server: WireServer): Served {
  const state = {
    headBytesMax: 16_384,
    fieldsMax: 200,
    isDraining: false,
    drainingSince: Number.POSITIVE_INFINITY,
    tick: 0,
    timing: TIMING,
    keepAliveLines: "Connection: keep-alive\r\n",
    dateLine: () => "Date: today\r\n",
    toRefusal: (status: number) => `HTTP/1.1 ${status} Problem\r\n\r\n`,
    onClosed: () => {},
    ...server,
  };
  const connection = new ClientConnection(wire as unknown as Socket, state);
  const tick = (count: number) => {
    for (let left = count; left > 0; left--) {
      state.tick++;
      connection.onTick();
    }
  };
  const drain = () => {
    state.isDraining = true;
    state.drainingSince = state.tick;
  };
  return { connection, tick, drain };
}

const TIMING = {
  headTicks: TICKS.head,
  requestTicks: TICKS.request,
  keepTicks: TICKS.keep,
  lingerTicks: TICKS.linger,
  graceTicks: TICKS.grace,
  toTicks: (ms: number) => ms,
};
