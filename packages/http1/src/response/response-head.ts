// The head of a response, read as strictly as requests are: what two parsers could read in two ways is an error, and not
// repaired. A head that equals the one before is not parsed again.

import { LINE_END, mustBePlain, readFields } from "../message/fields.js";
import { MalformedMessage } from "../message/malformed-message.js";

/** The head of a response. */
export interface ResponseHead {
  /** 100 to 999. */
  readonly status: number;
  /** As the server wrote it; may be empty. */
  readonly reason: string;
  /** Names and values in turn, in the server's order and spelling. */
  readonly fields: readonly string[];
  /** The value of Content-Length; undefined without one. */
  readonly length: number | undefined;
  /** Whether the body comes in chunks. */
  readonly isChunked: boolean;
  /** Whether the server keeps the connection open. */
  readonly isKeptAlive: boolean;
  /** How long the server promises to keep an idle connection, in milliseconds; undefined if it does not say. */
  readonly keepAliveMs: number | undefined;
  /** The protocol that the server switches to, in lower case; empty if it names none. */
  readonly upgrade: string;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/;
const DIGITS = /^\d{1,15}$/;
const KEEP_ALIVE_SECONDS = /(?:^|[,\s])timeout=(\d{1,7})(?:$|[,\s])/i;

/**
 * Reads a head.
 *
 * @param text - All lines up to the empty line, each with its end.
 * @throws MalformedMessage that says what is wrong with it.
 */
export function readResponseHead(text: string): ResponseHead {
  mustBePlain(text);
  const firstEnd = text.indexOf(LINE_END);
  const first = STATUS_LINE.exec(text.slice(0, firstEnd));
  if (first === null) throw new MalformedMessage("the first line is not a status line");
  const fields = readFields(text, firstEnd + LINE_END.length);
  const framing = new Framing(first[1] === "1");
  for (let i = 0; i < fields.length; i += 2) framing.learn(fields[i], fields[i + 1]);
  framing.check();
  const { length, isChunked, isKeptAlive, keepAliveMs, upgrade } = framing;
  const [, , code, reason = ""] = first;
  const status = Number(code);
  return { status, reason, fields, length, isChunked, isKeptAlive, keepAliveMs, upgrade };
}

/** What the fields say about where the response ends, and what comes after it. */
class Framing {
  length: number | undefined = undefined;
  isChunked = false;
  isKeptAlive: boolean;
  keepAliveMs: number | undefined = undefined;
  upgrade = "";
  readonly #isHttp11: boolean;

  constructor(isHttp11: boolean) {
    this.#isHttp11 = isHttp11;
    this.isKeptAlive = isHttp11;
  }

  learn(name: string, value: string): void {
    switch (name.length) {
      case 7:
        if (name.toLowerCase() === "upgrade") this.upgrade = value.toLowerCase();
        break;
      case 10:
        if (name.toLowerCase() === "connection") this.#learnConnection(value.toLowerCase());
        else if (name.toLowerCase() === "keep-alive") this.#learnKeepAlive(value);
        break;
      case 14:
        if (name.toLowerCase() === "content-length") this.#learnLength(value);
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") this.#learnEncoding(value);
    }
  }

  check(): void {
    if (this.isChunked && this.length !== undefined) {
      throw new MalformedMessage("both Content-Length and Transfer-Encoding are present");
    }
  }

  #learnConnection(value: string): void {
    const options = value.split(",").map((option) => option.trim());
    if (options.includes("close")) this.isKeptAlive = false;
    else if (!this.#isHttp11 && options.includes("keep-alive")) this.isKeptAlive = true;
  }

  #learnKeepAlive(value: string): void {
    const seconds = KEEP_ALIVE_SECONDS.exec(value)?.[1];
    if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1000;
  }

  #learnLength(value: string): void {
    const length = Number(value);
    if (!DIGITS.test(value) || (this.length ?? length) !== length) {
      throw new MalformedMessage("Content-Length is not a single number");
    }
    this.length = length;
  }

  #learnEncoding(value: string): void {
    if (value.toLowerCase() !== "chunked" || this.isChunked || !this.#isHttp11) {
      throw new MalformedMessage("Transfer-Encoding is not chunked");
    }
    this.isChunked = true;
  }
}

/** Reads heads, and remembers the last: most responses of one server have the same head for a second. */
export class ResponseHeadReader {
  #text = "";
  #head: ResponseHead | undefined = undefined;

  /** As {@link readResponseHead}. Equal heads are the same object, so that callers can keep what they derive from it. */
  read(text: string): ResponseHead {
    if (this.#head !== undefined && text === this.#text) return this.#head;
    const head = readResponseHead(text);
    this.#text = text;
    this.#head = head;
    return head;
  }
}
