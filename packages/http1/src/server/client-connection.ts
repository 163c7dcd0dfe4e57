// One connection of a client: its bytes become requests, one exchange after the other. A request that is malformed or too
// slow is answered and ends the connection. Times are counted in the ticks of its server.

import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { MalformedMessage, type RefusalStatus } from "../message/malformed-message.js";
import { BodyUnframer } from "../request/body-unframer.js";
import { RequestBody } from "../request/request-body.js";
import { RequestHeadReader } from "../request/request-head.js";
import { Exchange, type ExchangeConnection } from "./exchange.js";
import { readShared } from "./shared-reads.js";

/** What a connection needs of its server. */
export interface ConnectionServer {
  readonly headBytesMax: number;
  readonly fieldsMax: number;
  /** Whether connections are closed after their response. */
  readonly isDraining: boolean;
  /** The tick at which it began to drain; Infinity if it does not. */
  readonly drainingSince: number;
  /** Grows by one every 100 ms. */
  readonly tick: number;
  readonly timing: ClientTiming;
  /** The headers that tell the client that the connection stays open. */
  readonly keepAliveLines: string;
  dateLine(): string;
  /**
   * The whole response to a malformed request; its connection is closed.
   *
   * @param target - The request target; empty if it can't be read.
   */
  toRefusal(status: RefusalStatus, target: string): string;
  onExchange(exchange: Exchange): void;
  onClosed(connection: ClientConnection): void;
}

/** How many ticks may pass; Infinity means no bound. */
export interface ClientTiming {
  readonly headTicks: number;
  readonly requestTicks: number;
  readonly keepTicks: number;
  /** How long a connection that is being closed is still read from, so that its response is not lost. */
  readonly lingerTicks: number;
  /** How long an idle connection stays open while the server drains: a request may be on its way. */
  readonly graceTicks: number;
  toTicks(ms: number): number;
}

/** What a connection is waiting for. */
type Phase = "idle" | "head" | "exchange" | "flush" | "linger";

/** Bytes sent ahead beyond which reading pauses. Up to them it is noticed when a client leaves. */
const AHEAD_BYTES = 4_096;

const NOTHING: Buffer = Buffer.alloc(0);

/** One connection. */
export class ClientConnection implements ExchangeConnection {
  readonly server: ConnectionServer;
  readonly peer: string | undefined;
  readonly #socket: Socket;
  readonly #heads: RequestHeadReader;
  readonly #bodies = new BodyUnframer();
  /** The bytes are overwritten afterwards: what is kept of them must be copied. */
  readonly #onData = (bytes: Buffer) => this.#take(bytes);
  readonly #onDrain = () => {
    if (this.#exchange === undefined) this.#goOn();
    else this.#exchange.watcher?.onClientReady();
  };
  readonly #onSocketClosed = () => this.#close();
  #phase: Phase = "idle";
  /** The tick at which it has waited too long, and the one at which it began to. */
  #deadline: number;
  #since: number;
  #exchange: Exchange | undefined = undefined;
  /** Bytes of the requests behind the current one. */
  #ahead: Buffer = NOTHING;
  #isTaking = false;

  constructor(socket: Socket, server: ConnectionServer) {
    this.#socket = socket;
    this.server = server;
    this.peer = socket.remoteAddress;
    this.#heads = new RequestHeadReader(server.headBytesMax, server.fieldsMax);
    this.#since = server.tick;
    this.#deadline = server.tick + server.timing.headTicks;
    if (!readShared(socket, this.#onData)) socket.on("data", this.#onData);
    socket.on("drain", this.#onDrain).on("error", ignore).on("close", this.#onSocketClosed);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed || this.#phase === "linger";
  }

  /** Ends it if it has waited too long, or has nothing to do while the server drains. */
  onTick(): void {
    const { tick, drainingSince, timing } = this.server;
    const isFlushed = this.#phase === "flush" && this.#socket.writableLength === 0;
    if (isFlushed) this.#wait("idle", timing.keepTicks);
    const isIdle = this.#phase === "idle";
    if (tick >= this.#deadline) this.#onLate();
    else if (isIdle && tick >= Math.max(drainingSince, this.#since) + timing.graceTicks) {
      this.destroy();
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /**
   * Resets the connection, so that a body that ends with its connection does not look complete. Node can't reset a
   * connection over TLS: that is closed without the alert that announces its end.
   */
  cutOff(): void {
    const socket = this.#socket;
    if (socket instanceof Socket && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
    else socket.destroy();
  }

  /** For exchanges: from now on, all that arrives until the connection closes is the body of this exchange, not HTTP. */
  switchProtocol(exchange: Exchange): RequestBody {
    const body = new RequestBody(this);
    exchange.body = body;
    this.#bodies.beginEndless();
    if (!this.#isTaking) this.#goOn();
    return body;
  }

  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** For exchanges: writes bytes; each character of a string is a byte. */
  write(piece: string | Buffer): boolean {
    return this.#socket.write(piece, "latin1");
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** For exchanges: writes the last bytes of a response. */
  finish(exchange: Exchange, last: string | Buffer): void {
    const { watcher } = exchange;
    if (watcher === undefined) {
      if (last.length > 0) this.#socket.write(last, "latin1");
    } else {
      this.#socket.write(last, "latin1", () => watcher.onExchangeOver());
    }
    if (exchange !== this.#exchange) return;
    if (exchange.closes) this.#closeGently(exchange.flushMsMax);
    // The head of the response said that the connection stays open, so the rest of the body is read, however long it is.
    else if (exchange.body?.isComplete === false) exchange.body.drop();
    else this.#endExchange(exchange);
  }

  /** Whether bytes that arrive are still parsed. */
  get #isReading(): boolean {
    return this.#phase !== "linger";
  }

  #take(bytes: Buffer): void {
    if (this.#ahead.length > 0) {
      this.#keep(Buffer.concat([this.#ahead, bytes]));
      return;
    }
    this.#isTaking = true;
    let at = 0;
    try {
      while (at < bytes.length && this.#isReading) {
        // A client that does not read its responses gets no more of them.
        if (this.#exchange === undefined && this.#socket.writableNeedDrain) break;
        if (this.#exchange === undefined) at = this.#takeHead(bytes, at);
        else if (this.#exchange.body?.isComplete === false) at = this.#takeBody(bytes, at);
        else break;
      }
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.#refuse(error.status);
      return;
    } finally {
      this.#isTaking = false;
    }
    if (at < bytes.length) this.#keep(Buffer.from(bytes.subarray(at)));
  }

  /** Keeps bytes that were sent ahead, and pauses reading if there are many. */
  #keep(bytes: Buffer): void {
    if (!this.#isReading) return;
    this.#ahead = bytes;
    if (bytes.length > AHEAD_BYTES) this.#socket.pause();
  }

  #takeHead(bytes: Buffer, from: number): number {
    if (this.#phase !== "head") this.#wait("head", this.server.timing.headTicks);
    const head = this.#heads.push(bytes, from);
    if (head === undefined) return bytes.length;
    const { line, fields, end: at } = head;
    const since = this.#since;
    this.#wait("exchange", Number.POSITIVE_INFINITY);
    const body = fields.hasBody ? new RequestBody(this) : undefined;
    const exchange = new Exchange(this, line, fields, body);
    this.#exchange = exchange;
    if (body === undefined) {
      this.server.onExchange(exchange);
      return at;
    }
    this.#deadline = since + this.server.timing.requestTicks;
    this.#bodies.begin(fields);
    // The handler sees the part of the body that has already arrived.
    const end = at < bytes.length ? this.#takeBody(bytes, at) : at;
    this.server.onExchange(exchange);
    return end;
  }

  #takeBody(bytes: Buffer, from: number): number {
    const { body } = this.#exchange as Exchange & { body: RequestBody };
    const at = this.#bodies.push(bytes, from, body);
    if (this.#bodies.isDone) this.#onBodyEnd(body);
    return at;
  }

  #onBodyEnd(body: RequestBody): void {
    this.#deadline = Number.POSITIVE_INFINITY;
    body.finish();
    if (this.#exchange?.isEnded === true) this.#endExchange(this.#exchange);
  }

  /** The response is written and the request read: continues with the next request. */
  #endExchange(exchange: Exchange): void {
    this.#exchange = undefined;
    const isFlushed = this.#socket.writableLength === 0;
    if (isFlushed) this.#wait("idle", this.server.timing.keepTicks);
    else this.#wait("flush", this.#toFlushTicks(exchange.flushMsMax));
    if (!this.#isTaking) this.#goOn();
  }

  /** Parses what was sent ahead, and continues reading. */
  #goOn(): void {
    const ahead = this.#ahead;
    this.#ahead = NOTHING;
    if (this.#socket.isPaused()) this.#socket.resume();
    if (ahead.length > 0) this.#take(ahead);
  }

  #toFlushTicks(flushMs: number | undefined): number {
    const { keepTicks, toTicks } = this.server.timing;
    return flushMs === undefined ? keepTicks : toTicks(flushMs);
  }

  #wait(phase: Phase, ticks: number): void {
    this.#phase = phase;
    this.#since = this.server.tick;
    this.#deadline = this.#since + ticks;
  }

  #onLate(): void {
    if (this.#phase === "head") this.#refuse(408);
    else if (this.#phase === "exchange") this.#breakBody(408);
    else this.destroy();
  }

  /** Answers a malformed or late request, and closes the connection. */
  #refuse(status: RefusalStatus): void {
    if (this.#exchange !== undefined) {
      this.#breakBody(status);
      return;
    }
    this.#socket.write(this.server.toRefusal(status, this.#heads.target), "latin1");
    this.#closeGently();
  }

  /** The rest of the body will not arrive. */
  #breakBody(status: RefusalStatus): void {
    const exchange = this.#exchange as Exchange;
    this.#deadline = Number.POSITIVE_INFINITY;
    exchange.body?.abort();
    exchange.closes = true;
    if (exchange.isEnded) this.#closeGently();
    else if (exchange.isAnswered) exchange.breakOff();
    else if (exchange.watcher !== undefined) exchange.watcher.onBodyBroken(status);
    else {
      this.#exchange = undefined;
      this.#refuse(status);
    }
  }

  /**
   * Closes the connection. Closing while bytes arrive would reset it, and a client that has not read its response would
   * lose it. So the connection is read from for a moment longer, after the response was sent.
   */
  #closeGently(flushMs?: number): void {
    const socket = this.#socket;
    this.#exchange?.body?.abort();
    this.#exchange = undefined;
    this.#ahead = NOTHING;
    this.#wait("linger", this.#toFlushTicks(flushMs));
    socket.once("end", () => socket.destroy());
    socket.end(() => this.#wait("linger", this.server.timing.lingerTicks));
    socket.resume();
  }

  #close(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#wait("linger", Number.POSITIVE_INFINITY);
    this.server.onClosed(this);
    if (exchange === undefined) return;
    if (!exchange.isEnded) exchange.watcher?.onExchangeOver();
    exchange.body?.abort();
  }
}

function ignore(): void {}
