// One request and its response. A connection has one at a time: the next request is read when the response before it is
// sent, however many requests were sent ahead.

import { type ChunkSink, LAST_CHUNK, writeChunk } from "../message/chunks.js";
import type { RefusalStatus } from "../message/malformed-message.js";
import type { RequestBody } from "../request/request-body.js";
import type { RequestFields } from "../request/request-fields.js";
import type { RequestLine } from "../request/request-line.js";
import { reasonPhraseOf } from "../response/reason-phrase.js";
import type { RepeatedReply } from "./repeated-reply.js";

/** What is notified about an exchange. */
export interface ExchangeWatcher {
  /** The response is sent, or the client is gone. Called once. */
  onExchangeOver(): void;
  /** The client accepts more of the response. */
  onClientReady(): void;
  /** The rest of the body is malformed (400, 431) or took too long (408), and there is no response yet. */
  onBodyBroken(status: RefusalStatus): void;
}

/** The connection that an exchange belongs to. */
export interface ExchangeConnection extends ChunkSink {
  /** The client's address. */
  readonly peer: string | undefined;
  readonly isClosed: boolean;
  readonly server: {
    readonly isDraining: boolean;
    readonly keepAliveLines: string;
    dateLine(): string;
  };
  /** Sends the last bytes of a response. */
  finish(exchange: Exchange, last: string | Buffer): void;
  /** From now on, everything that arrives is the body of this exchange, not HTTP. */
  switchProtocol(exchange: Exchange): RequestBody;
  /** Ends the connection in a way that does not look like the end of a response. */
  cutOff(): void;
  destroy(): void;
}

/** Up to this many bytes, reading the rest of a body is cheaper than a new connection. */
const UNREAD_BYTES_MAX = 65_536;

/** One request and its response. */
export class Exchange {
  readonly connection: ExchangeConnection;
  readonly method: string;
  /** As it was sent, unless the handler has replaced it by its canonical form. */
  target: string;
  /** The minor version of HTTP/1. */
  readonly minor: 0 | 1;
  readonly fields: RequestFields;
  /** Undefined if there is none. */
  body: RequestBody | undefined;
  watcher: ExchangeWatcher | undefined = undefined;
  /** Whether the connection is closed after the response. */
  closes: boolean;
  /** How long the client may take to read the end of the response; default: as long as a connection may be idle. */
  flushMsMax: number | undefined = undefined;
  /** The status of the response, once its head is written. */
  status: number | undefined = undefined;
  /** Whether the client may wait for `100 Continue`: not in HTTP/1.0, and not once it was sent. */
  #mayExpect: boolean;
  #isChunked = false;
  #isEnded = false;

  constructor(
    connection: ExchangeConnection,
    { method, target, minor }: RequestLine,
    fields: RequestFields,
    body: RequestBody | undefined,
  ) {
    this.connection = connection;
    this.method = method;
    this.target = target;
    this.minor = minor;
    this.fields = fields;
    this.body = body;
    this.closes = !fields.isKept;
    this.#mayExpect = minor > 0;
  }

  /** The address at the other end of the connection. */
  get peer(): string | undefined {
    return this.connection.peer;
  }

  /** Whether the client is gone. */
  get isGone(): boolean {
    return this.connection.isClosed;
  }

  /** Whether the head of the response is written. */
  get isAnswered(): boolean {
    return this.status !== undefined;
  }

  /** Whether all of the response is written. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether it is a valid request to switch to a WebSocket. */
  get asksForWebSocket(): boolean {
    const { upgrade, hasBody } = this.fields;
    return upgrade === "websocket" && this.method === "GET" && !hasBody;
  }

  /** Whether the client waits for `100 Continue` before it sends its body. */
  get #isExpecting(): boolean {
    return this.#mayExpect && this.fields.expect !== "" && this.body?.isComplete === false;
  }

  /** Whether more of the request is left than is worth reading, or its length is not known. */
  get hasMuchLeft(): boolean {
    const { body, fields } = this;
    if (body === undefined || body.isComplete) return false;
    // A client that waits for 100 Continue will not send its body now, though it was announced.
    const isOpen = fields.framing === "chunked" || this.#isExpecting;
    return isOpen || fields.length > UNREAD_BYTES_MAX;
  }

  /** Sends `100 Continue` if the client waits for it. Call it before waiting for the body. */
  sendContinue(): void {
    if (!this.#isExpecting) return;
    this.#mayExpect = false;
    this.connection.write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  /**
   * Sends a whole response.
   *
   * @param lines - Headers, each ending with CRLF; without Content-Length, Connection and Date.
   */
  reply(status: number, lines: string, body: string): void {
    const length = Buffer.byteLength(body);
    if (this.hasMuchLeft) this.closes = true;
    const head = this.#toHead(status, reasonPhraseOf(status), lines, length);
    const shown = this.#shown(status, body);
    // If all characters are ASCII there is nothing to encode, and head and body are one string.
    if (length === body.length || shown === "") this.#finish(head + shown);
    else this.#finish(Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(shown)]));
  }

  /** Sends a whole response that other requests get too: see {@link RepeatedReply}. */
  repeat(reply: RepeatedReply): void {
    const { status, lines, body } = reply;
    const { server } = this.connection;
    const isUsual = this.minor > 0 && this.method !== "HEAD" && !this.closes;
    if (!isUsual || server.isDraining || this.hasMuchLeft) {
      this.reply(status, lines, body);
      return;
    }
    const date = server.dateLine();
    if (!reply.isFor(date)) {
      const length = Buffer.byteLength(body);
      const head = this.#toHead(status, reasonPhraseOf(status), lines, length);
      reply.keep(date, head, this.#shown(status, body));
    }
    this.status = status;
    this.#finish(reply.bytes);
  }

  /**
   * Sends a whole response of another server. Its body must not be empty; each character is a byte.
   *
   * @param lines - As in {@link reply}; with `Date:` if `hasDate`.
   */
  pass(status: number, reason: string, lines: string, bytes: string, hasDate: boolean): void {
    if (this.hasMuchLeft) this.closes = true;
    this.#finish(this.#toHead(status, reason, lines, bytes.length, hasDate) + bytes);
  }

  /**
   * Begins a response whose body follows piece by piece.
   *
   * @param length - The length of the body; undefined if it is not known.
   */
  begin(
    status: number,
    reason: string,
    lines: string,
    length: number | undefined,
    hasDate: boolean,
  ): void {
    this.#isChunked = length === undefined && this.minor > 0 && this.#mayHaveBody(status);
    // Before HTTP/1.1 a body without a length ends with its connection.
    if (length === undefined && this.minor === 0 && this.#mayHaveBody(status)) this.closes = true;
    this.connection.write(this.#toHead(status, reason, lines, length, hasDate));
  }

  /**
   * Switches the connection to a WebSocket. What the client sends from now on is the body of the exchange; {@link write}
   * and {@link end} send in the other direction.
   */
  switchToWebSocket(reason: string, lines: string): RequestBody {
    this.status = 101;
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\n${lines}`;
    this.connection.write(`HTTP/1.1 101 ${reason}\r\n${fields}\r\n`);
    return this.connection.switchProtocol(this);
  }

  /** Sends a piece of the body, which must not be changed afterwards. False: wait for `onClientReady`. */
  write(piece: Buffer): boolean {
    const { connection } = this;
    return this.#isChunked ? writeChunk(connection, piece) : connection.write(piece);
  }

  /** Ends a response that was begun. */
  end(): void {
    this.#finish(this.#isChunked ? LAST_CHUNK : "");
  }

  /** Ends the connection because the rest of the response is missing, so that the response does not look complete. */
  breakOff(): void {
    // In HTTP/1.0 a normal end of the connection may be the end of the body, so it is reset.
    if (this.minor === 0) this.connection.cutOff();
    else this.connection.destroy();
  }

  #finish(last: string | Buffer): void {
    this.#isEnded = true;
    this.connection.finish(this, last);
  }

  #mayHaveBody(status: number): boolean {
    return this.method !== "HEAD" && status !== 204 && status !== 304;
  }

  #shown(status: number, body: string): string {
    return this.#mayHaveBody(status) ? body : "";
  }

  #toHead(
    status: number,
    reason: string,
    lines: string,
    length: number | undefined,
    hasDate = false,
  ): string {
    this.status = status;
    const { server } = this.connection;
    if (server.isDraining) this.closes = true;
    const date = hasDate ? "" : server.dateLine();
    const framing = this.#toFraming(status, length);
    return `HTTP/1.1 ${status} ${reason}\r\n${lines}${date}${this.#toConnection(status)}${framing}\r\n`;
  }

  #toFraming(status: number, length: number | undefined): string {
    if (this.#isChunked) return "Transfer-Encoding: chunked\r\n";
    return length === undefined || status === 204 ? "" : `Content-Length: ${length}\r\n`;
  }

  #toConnection(status: number): string {
    if (this.closes) return "Connection: close\r\n";
    // In HTTP/1.1 a connection stays open by default: a refusal need not say so.
    const isTold = status < 400 || this.minor === 0;
    return isTold ? this.connection.server.keepAliveLines : "";
  }
}
