// One request and its response. A connection has one at a time: the next request on it is looked at when the
// response before it is out, however many were sent ahead.

import { type ChunkSink, LAST_CHUNK, writeChunk } from "../message/chunks.js";
import type { RefusalStatus } from "../message/malformed-message.js";
import type { RequestBody } from "../request/request-body.js";
import type { RequestFields } from "../request/request-fields.js";
import type { RequestLine } from "../request/request-line.js";
import { reasonPhraseOf } from "../response/reason-phrase.js";

/** Who has to know how an exchange goes on. */
export interface ExchangeWatcher {
  /** The response is out, or the client is gone. Told once. */
  onExchangeOver(): void;
  /** The client takes more of the response. */
  onClientReady(): void;
  /** The rest of the body can't be understood (400, 431), or took too long (408); nothing was answered yet. */
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

/** Bytes of an unread body that are rather read to their end than paid for with a new connection. */
const UNREAD_BYTES_MAX = 65_536;

/** One request and its response. */
export class Exchange {
  readonly connection: ExchangeConnection;
  readonly method: string;
  /** As it was sent, unless somebody has put it into one form. */
  target: string;
  /** Of HTTP/1. */
  readonly minor: 0 | 1;
  readonly fields: RequestFields;
  /** Undefined if there is none. */
  body: RequestBody | undefined;
  watcher: ExchangeWatcher | undefined = undefined;
  /** Whether the connection is closed after the response. */
  closes: boolean;
  /** How long the client may take to read the last of it; default as long as a connection may be idle. */
  flushMsMax: number | undefined = undefined;
  /** Of the response, once its head is written. */
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

  /** Whether nobody is there to take a response. */
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

  /** Whether it asks to switch to a WebSocket in a way that can be granted. */
  get asksForWebSocket(): boolean {
    const { upgrade, hasBody } = this.fields;
    return upgrade === "websocket" && this.method === "GET" && !hasBody;
  }

  /** Whether the client waits for `100 Continue` before it sends its body. */
  get #isExpecting(): boolean {
    return this.#mayExpect && this.fields.expect !== "" && this.body?.isComplete === false;
  }

  /** Whether more of the request is to come than is worth reading, or it can't be told how much. */
  get hasMuchLeft(): boolean {
    const { body, fields } = this;
    if (body === undefined || body.isComplete) return false;
    // Who waits for our leave will not send the body now, though it was announced.
    const isOpen = fields.framing === "chunked" || this.#isExpecting;
    return isOpen || fields.length > UNREAD_BYTES_MAX;
  }

  /** Sends `100 Continue` if the client waits for it. To be called before the body is waited for. */
  sendContinue(): void {
    if (!this.#isExpecting) return;
    this.#mayExpect = false;
    this.connection.write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  /**
   * Answers with a text of our own.
   *
   * @param lines - Fields, each with the end of its line; without Content-Length, Connection and Date.
   */
  reply(status: number, lines: string, body: string): void {
    const length = Buffer.byteLength(body);
    if (this.hasMuchLeft) this.closes = true;
    const head = this.#toHead(status, reasonPhraseOf(status), lines, length);
    const shown = this.#shown(status, body);
    // Where characters are bytes there is nothing to encode, and one write does.
    if (length === body.length || shown === "") this.#finish(head + shown);
    else this.#finish(Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(shown)]));
  }

  /**
   * Answers with somebody else's text, which is not empty, and of which each character is a byte.
   *
   * @param lines - As in {@link reply}; with `Date:` if `hasDate`.
   */
  pass(status: number, reason: string, lines: string, bytes: string, hasDate: boolean): void {
    if (this.hasMuchLeft) this.closes = true;
    this.#finish(this.#toHead(status, reason, lines, bytes.length, hasDate) + bytes);
  }

  /**
   * Begins an answer whose body follows piece by piece.
   *
   * @param length - Of the body; undefined if it is not known.
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
   * Answers that the connection is a WebSocket from now on. What the client sends is the body of the exchange, and
   * {@link write} and {@link end} serve the other direction.
   */
  switchToWebSocket(reason: string, lines: string): RequestBody {
    this.status = 101;
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\n${lines}`;
    this.connection.write(`HTTP/1.1 101 ${reason}\r\n${fields}\r\n`);
    return this.connection.switchProtocol(this);
  }

  /** Sends a piece of the body, of which the bytes are kept. False: wait for `onClientReady`. */
  write(piece: Buffer): boolean {
    const { connection } = this;
    return this.#isChunked ? writeChunk(connection, piece) : connection.write(piece);
  }

  /** Ends a response that was begun. */
  end(): void {
    this.#finish(this.#isChunked ? LAST_CHUNK : "");
  }

  /** The rest of the response does not come: the connection ends, and not in a way that looks like its end. */
  breakOff(): void {
    // Where the end of the connection is the end of the body, it has to be another one.
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
    // In HTTP/1.1 a connection stays open unless it says otherwise: a refusal need not say so each time.
    const isTold = status < 400 || this.minor === 0;
    return isTold ? this.connection.server.keepAliveLines : "";
  }
}
