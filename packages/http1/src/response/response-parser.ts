// Reads the responses of a connection, one after another: bytes go in as they arrive, a head and pieces of a body come
// out, and nothing is copied. It finds where a response ends, and throws if that is not certain.

import { ChunkReader, type OnPiece } from "../message/chunks.js";
import { MalformedMessage } from "../message/malformed-message.js";
import type { ResponseHead, ResponseHeadReader } from "./response-head.js";

/** Receives a response as it arrives. The bytes are overwritten later: copy what you keep. */
export interface ResponseSink {
  /** @param hasMore - Whether more of the response follows immediately, from bytes that have already arrived. */
  onHead(head: ResponseHead, hasMore: boolean): void;
  /** A piece of the body that is not the last. */
  onBody(bytes: Buffer, from: number, to: number): void;
  /** The end of the response, with the last piece of its body, which may be empty. */
  onEnd(bytes: Buffer, from: number, to: number): void;
}

/** The kind of a request, as far as the end of its response depends on it: a response to HEAD has no body. */
export type RequestKind = "resource" | "head" | "websocket";

/** The most bytes of a response's head. */
export const HEAD_BYTES_MAX = 65_536;
/** The most interim responses (1xx) before a final one. */
const INTERIM_MAX = 32;

const HEAD_END = Buffer.from("\r\n\r\n");
/** The end of a head without the empty line. */
const LINE_END_BYTES = 2;
const CR = 0x0d;
const LF = 0x0a;
const NOTHING = Buffer.alloc(0);

/** What comes next: `left` bytes, chunks, everything until the connection closes, or nothing. */
type Body = "none" | "length" | "chunks" | "close";

/** Reads the responses of one connection. */
export class ResponseParser {
  readonly #heads: ResponseHeadReader;
  readonly #chunks = new ChunkReader();
  readonly #onPiece: OnPiece;
  #sink: ResponseSink | undefined = undefined;
  #asked: RequestKind = "resource";
  #isInBody = false;
  #head: ResponseHead | undefined = undefined;
  #body: Body = "none";
  #left = 0;
  #interim = 0;
  /** The beginning of a head whose end has not arrived. */
  #begun: Buffer = NOTHING;

  constructor(heads: ResponseHeadReader) {
    this.#heads = heads;
    this.#onPiece = (bytes, from, to) => this.#sink?.onBody(bytes, from, to);
  }

  /** Whether no response is awaited: none was begun, or the last one is complete. */
  get isDone(): boolean {
    return this.#sink === undefined;
  }

  /** The head of the current or last response; undefined until it has arrived. */
  get head(): ResponseHead | undefined {
    return this.#head;
  }

  /** Whether the response may end by the connection being closed. */
  get endsByClose(): boolean {
    return this.#isInBody && this.#body === "close";
  }

  /** Prepares for a response. */
  begin(sink: ResponseSink, asked: RequestKind): void {
    this.#sink = sink;
    this.#asked = asked;
    this.#head = undefined;
    this.#isInBody = false;
    this.#body = "none";
    this.#interim = 0;
    this.#begun = NOTHING;
  }

  /**
   * Reads bytes. Returns how many of them it consumed: fewer than there are if the response ended before.
   *
   * @throws MalformedMessage if they are not a valid response.
   */
  push(bytes: Buffer): number {
    if (this.#isInBody) return this.#pushBody(bytes, 0);
    if (this.#begun.length === 0) return this.#pushHead(bytes);
    const before = this.#begun.length;
    return this.#pushHead(Buffer.concat([this.#begun, bytes])) - before;
  }

  /** The connection was closed where {@link endsByClose} allows it: the response is complete. */
  finish(): void {
    this.#end(NOTHING, 0, 0);
  }

  #pushHead(bytes: Buffer): number {
    let at = 0;
    while (!this.#isInBody) {
      const end = bytes.indexOf(HEAD_END, at);
      if ((end < 0 ? bytes.length : end) - at > HEAD_BYTES_MAX) {
        throw new MalformedMessage(`the head has more than ${HEAD_BYTES_MAX} bytes`);
      }
      if (end < 0) {
        mustHaveWholeLines(bytes, at);
        this.#begun = Buffer.from(bytes.subarray(at));
        return bytes.length;
      }
      this.#begun = NOTHING;
      const head = this.#heads.read(bytes.toString("latin1", at, end + LINE_END_BYTES));
      at = end + HEAD_END.length;
      if (head.status >= 200 || this.#isSwitch(head)) this.#startBody(head, at < bytes.length);
      else this.#skipInterim(head);
    }
    return this.#pushBody(bytes, at);
  }

  #isSwitch({ status, upgrade }: ResponseHead): boolean {
    return status === 101 && this.#asked === "websocket" && upgrade === "websocket";
  }

  #skipInterim({ status }: ResponseHead): void {
    this.#interim++;
    // No switch of protocols was asked for, and what follows it is not HTTP.
    if (status === 101 || this.#interim > INTERIM_MAX) {
      throw new MalformedMessage(
        `there are too many interim responses, or one that was not asked for: ${status}`,
      );
    }
  }

  #startBody(head: ResponseHead, hasBytes: boolean): void {
    this.#head = head;
    this.#isInBody = true;
    this.#body = toBody(head, this.#asked);
    this.#left = head.length ?? 0;
    if (this.#body === "chunks") this.#chunks.reset();
    this.#sink?.onHead(head, hasBytes || this.#body === "none");
  }

  #pushBody(bytes: Buffer, from: number): number {
    switch (this.#body) {
      case "none":
        this.#end(bytes, from, from);
        return from;
      case "length":
        return this.#pushLength(bytes, from);
      case "chunks":
        return this.#pushChunks(bytes, from);
      case "close":
        if (from < bytes.length) this.#sink?.onBody(bytes, from, bytes.length);
        return bytes.length;
    }
  }

  #pushLength(bytes: Buffer, from: number): number {
    const to = Math.min(from + this.#left, bytes.length);
    this.#left -= to - from;
    if (this.#left === 0) this.#end(bytes, from, to);
    else if (to > from) this.#sink?.onBody(bytes, from, to);
    return to;
  }

  #pushChunks(bytes: Buffer, from: number): number {
    const to = this.#chunks.push(bytes, from, this.#onPiece);
    if (this.#chunks.isDone) this.#end(bytes, to, to);
    return to;
  }

  #end(bytes: Buffer, from: number, to: number): void {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#isInBody = false;
    sink?.onEnd(bytes, from, to);
  }
}

/** @throws MalformedMessage if a line ends with a bare LF: the end of the head would never come. */
function mustHaveWholeLines(bytes: Buffer, from: number): void {
  let end = bytes.indexOf(LF, from);
  for (; end >= 0; end = bytes.indexOf(LF, end + 1)) {
    if (bytes[end - 1] !== CR) throw new MalformedMessage("a line of the head ends with a bare LF");
  }
}

function toBody({ status, length, isChunked }: ResponseHead, asked: RequestKind): Body {
  // Another protocol, whatever the head says about a body.
  if (status === 101) return "close";
  if (asked === "head" || status === 204 || status === 304 || length === 0) return "none";
  if (isChunked) return "chunks";
  return length === undefined ? "close" : "length";
}
