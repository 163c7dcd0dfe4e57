// A kept-alive connection to one backend, without the layers of http.request: a request is written as one string, its
// response goes through the parser, and bytes are forwarded without streams around them. It belongs to a pool, which
// keeps time for it by counting ticks.

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import {
  MalformedMessage,
  type RequestKind,
  type ResponseHeadReader,
  ResponseParser,
} from "sluice-http1";
import { type ClientTls, toTlsDetail } from "./client-tls.js";
import type { FailureKind, UpstreamCaller } from "./upstream-caller.js";

/** Bytes of one read, into memory that each connection keeps. */
const READ_BYTES_MAX = 32_768;
/** How much earlier a connection is closed than the backend announced in Keep-Alive. */
const KEEP_MARGIN_MS = 1_000;

/** What a connection needs from its pool. */
export interface ConnectionHost {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain HTTP. */
  readonly tls: ClientTls | undefined;
  readonly heads: ResponseHeadReader;
  /** Grows by one every `TICK_MS`. */
  readonly tick: number;
  readonly timing: Timing;
  onConnected(connection: UpstreamConnection): void;
  /** It can serve another request. */
  onIdle(connection: UpstreamConnection): void;
  /** It could not connect. */
  onNotConnected(connection: UpstreamConnection, kind: FailureKind, detail: string): void;
  /** It was connected, and has closed. */
  onClosed(connection: UpstreamConnection): void;
}

/** How many ticks may pass; Infinity means no bound. */
export interface Timing {
  readonly connectTicks: number;
  readonly responseTicks: number;
  readonly idleTicks: number;
  /** How long a connection without a request is kept. */
  readonly keepTicks: number;
  /** How many ticks fit into that many milliseconds, rounded down. */
  ticksIn(ms: number): number;
}

/** One connection. */
export class UpstreamConnection {
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  #caller: UpstreamCaller | undefined = undefined;
  /** Whether it is there but for its TLS handshake. */
  #isShakingHands = false;
  #isConnected = false;
  #isClosed = false;
  /** Whether all of the request is sent. */
  #isSent = true;
  #hasResponse = false;
  #hasServed = false;
  /** The tick at which it has waited too long. */
  #deadline: number;
  #failure: FailureKind = "closed";
  #detail = "";

  constructor(host: ConnectionHost) {
    this.#host = host;
    this.#parser = new ResponseParser(host.heads);
    this.#deadline = host.tick + host.timing.connectTicks;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES_MAX);
    const onread = { buffer, callback: (bytes: number) => this.#onRead(bytes, buffer) };
    const where = { host: host.host, port: host.port, onread };
    if (host.tls === undefined) {
      this.#socket = connect({ ...where, noDelay: true }).on("connect", () => this.#onConnect());
    } else {
      this.#socket = connectTls({ ...where, ...host.tls.optionsFor(host.host) })
        .on("connect", () => this.#onHandshake())
        .on("secureConnect", () => this.#onConnect());
    }
    this.#socket
      .on("drain", () => this.#onDrain())
      .on("end", () => this.#onReadEnd())
      .on("error", (error) => this.#onError(error))
      .on("close", () => this.#onClose());
  }

  /** Whether it is open and free. */
  get isIdle(): boolean {
    return this.#isConnected && !this.#socket.destroyed && this.#caller === undefined;
  }

  /**
   * Sends a request. `caller` takes the response.
   *
   * @param head - The whole head, with the empty line; in Latin-1.
   * @param isWhole - Whether no body follows.
   */
  send(head: string, caller: UpstreamCaller, isWhole: boolean, asked: RequestKind): void {
    this.#caller = caller;
    this.#isSent = isWhole;
    this.#hasResponse = false;
    this.#parser.begin(caller, asked);
    this.#waitFor(isWhole ? this.#host.timing.responseTicks : this.#host.timing.idleTicks);
    this.#socket.write(head, "latin1");
  }

  /** Sends a piece of the body. False: wait for `onDrain` before the next. */
  write(piece: Buffer | string): boolean {
    this.#waitFor(this.#host.timing.idleTicks);
    return this.#socket.write(piece, "latin1");
  }

  /** Joins what is written until `uncork` into one packet. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** The body is sent. */
  endBody(): void {
    this.#isSent = true;
    if (!this.#hasResponse) this.#waitFor(this.#host.timing.responseTicks);
  }

  /** Stops the response: its reader is slower. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#waitFor(this.#host.timing.idleTicks);
    this.#socket.resume();
  }

  /** Closes it once everything that was written is sent, or the transfer has stalled. Its caller is not called again. */
  end(): void {
    this.#caller = undefined;
    this.#waitFor(this.#host.timing.idleTicks);
    this.#socket.end(() => this.#socket.destroy());
  }

  /** Closes it. Its user gets no further calls. */
  destroy(): void {
    this.#caller = undefined;
    this.#socket.destroy();
  }

  /** Closes it if it has waited too long. */
  checkDeadline(): void {
    if (this.#host.tick < this.#deadline || this.#isClosed) return;
    this.#note(this.#lateKind(), this.#isShakingHands ? "the TLS handshake took too long" : "");
    this.#socket.destroy();
  }

  #lateKind(): FailureKind {
    if (!this.#isConnected) return "connect-timeout";
    const isHeadThere = this.#parser.head !== undefined;
    return this.#isSent && !isHeadThere ? "response-timeout" : "idle-timeout";
  }

  #waitFor(ticks: number): void {
    this.#deadline = this.#host.tick + ticks;
  }

  #onHandshake(): void {
    this.#isShakingHands = true;
    this.#socket.setNoDelay(true);
  }

  #onConnect(): void {
    this.#isShakingHands = false;
    this.#isConnected = true;
    this.#waitFor(this.#host.timing.keepTicks);
    this.#host.onConnected(this);
  }

  #onDrain(): void {
    this.#caller?.onDrain();
  }

  #onRead(bytesRead: number, buffer: Buffer): boolean {
    const bytes = buffer.subarray(0, bytesRead);
    if (this.#caller === undefined) {
      // No request is under way: the next one must not get these bytes as its response.
      if (!this.#socket.writableEnded) this.#socket.destroy();
      return true;
    }
    this.#hasResponse = true;
    try {
      const taken = this.#parser.push(bytes);
      // Until the head is complete its deadline stays, however slowly its bytes arrive.
      if (this.#parser.head !== undefined || !this.#isSent) {
        this.#waitFor(this.#host.timing.idleTicks);
      }
      if (this.#parser.isDone) this.#onResponseEnd(taken === bytesRead);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.#note("broken", error.message);
      this.#socket.destroy();
    }
    return true;
  }

  #onResponseEnd(isClean: boolean): void {
    this.#caller = undefined;
    this.#hasServed = true;
    const { head } = this.#parser;
    const isOver = !isClean || !this.#isSent || this.#socket.destroyed;
    if (isOver || head === undefined || !head.isKeptAlive) {
      this.#socket.destroy();
      return;
    }
    this.#waitFor(this.#toKeepTicks(head.keepAliveMs));
    // The client may have paused it during the last piece; the next response belongs to another exchange.
    this.#socket.resume();
    this.#host.onIdle(this);
  }

  /** A backend that says how long it keeps a connection is trusted, up to our own bound. */
  #toKeepTicks(promisedMs: number | undefined): number {
    const { timing } = this.#host;
    if (promisedMs === undefined) return timing.keepTicks;
    return Math.min(timing.keepTicks, timing.ticksIn(Math.max(0, promisedMs - KEEP_MARGIN_MS)));
  }

  #onReadEnd(): void {
    if (this.#caller !== undefined && this.#parser.endsByClose) {
      this.#parser.finish();
      this.#caller = undefined;
    }
    const when = this.#isShakingHands ? " during the TLS handshake" : "";
    this.#note(this.#isShakingHands ? "tls" : "closed", `the backend closed the connection${when}`);
    this.#socket.destroy();
  }

  #onError(error: Error): void {
    if (this.#isShakingHands) this.#note("tls", toTlsDetail(error));
    // In TLS 1.3 a client certificate is rejected after the client has shaken hands and sent its request.
    else this.#note("closed", this.#host.tls === undefined ? error.message : toTlsDetail(error));
  }

  /** Keeps the first cause: what follows is its consequence. */
  #note(kind: FailureKind, detail: string): void {
    if (this.#detail !== "" || this.#failure !== "closed") return;
    this.#failure = kind;
    this.#detail = detail;
  }

  #onClose(): void {
    this.#isClosed = true;
    const caller = this.#caller;
    this.#caller = undefined;
    const kind = this.#failure;
    if (this.#isConnected) this.#host.onClosed(this);
    else this.#host.onNotConnected(this, kind === "closed" ? "connect" : kind, this.#detail);
    if (caller === undefined) return;
    const isStale = kind === "closed" && this.#hasServed && !this.#hasResponse;
    caller.onFailure({ kind, detail: this.#detail, hasResponse: this.#hasResponse, isStale });
  }
}
