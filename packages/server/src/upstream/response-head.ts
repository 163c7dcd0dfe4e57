// The head of an upstream's response, read as strictly as requests are: what two readers could take for
// two things is broken, not repaired. A head that is the same as the one before is not read again.

/** A response that can't be told apart from another one, or that is no HTTP. */
export class BrokenResponse extends Error {
  override readonly name: string = "BrokenResponse";
}

/** The head of a response. */
export interface ResponseHead {
  /** 100 to 999. */
  readonly status: number;
  /** As the upstream wrote it; may be empty. */
  readonly reason: string;
  /** Names and values in turn, in the upstream's order and spelling. */
  readonly fields: readonly string[];
  /** Bytes of the body that Content-Length announces; undefined if it announces none. */
  readonly length: number | undefined;
  /** Whether the body comes in chunks. */
  readonly isChunked: boolean;
  /** Whether the upstream lets the connection be used again. */
  readonly isKeptAlive: boolean;
  /** How long it promises to keep an idle connection, in milliseconds; undefined if it does not say. */
  readonly keepAliveMs: number | undefined;
}

/** Control characters, and line ends that are only half of one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DIGITS = /^\d{1,15}$/;
const KEEP_ALIVE_SECONDS = /(?:^|[,\s])timeout=(\d{1,7})(?:$|[,\s])/i;
const LINE_END = "\r\n";

/**
 * Reads a head.
 *
 * @param text - Everything up to the empty line, with the end of the last line and without the empty one.
 * @throws BrokenResponse that says what is wrong with it.
 */
export function readResponseHead(text: string): ResponseHead {
  if (FORBIDDEN.test(text)) throw new BrokenResponse("a control character in the head");
  const firstEnd = text.indexOf(LINE_END);
  const first = STATUS_LINE.exec(text.slice(0, firstEnd));
  if (first === null) throw new BrokenResponse("no status line");
  const fields = readFields(text, firstEnd + LINE_END.length);
  const framing = new Framing(first[1] === "1");
  for (let i = 0; i < fields.length; i += 2) framing.learn(fields[i], fields[i + 1]);
  framing.check();
  const { length, isChunked, isKeptAlive, keepAliveMs } = framing;
  const [, , status, reason = ""] = first;
  return { status: Number(status), reason, fields, length, isChunked, isKeptAlive, keepAliveMs };
}

function readFields(text: string, from: number): string[] {
  const fields: string[] = [];
  let start = from;
  // Each round takes one line, and the text ends with the end of one.
  while (start < text.length) {
    const end = text.indexOf(LINE_END, start);
    const colon = text.indexOf(":", start);
    const name = text.slice(start, colon);
    if (colon < 0 || colon > end || !TOKEN.test(name)) {
      throw new BrokenResponse("a line of the head that is no field");
    }
    fields.push(name, readValue(text, colon + 1, end));
    start = end + LINE_END.length;
  }
  return fields;
}

/** Without the spaces and tabs around it, and those only: `trim` would take bytes that belong to it. */
function readValue(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** What the fields say about where the response ends, and what comes after it. */
class Framing {
  length: number | undefined = undefined;
  isChunked = false;
  isKeptAlive: boolean;
  keepAliveMs: number | undefined = undefined;
  readonly #isHttp11: boolean;

  constructor(isHttp11: boolean) {
    this.#isHttp11 = isHttp11;
    this.isKeptAlive = isHttp11;
  }

  learn(name: string, value: string): void {
    switch (name.length) {
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
      throw new BrokenResponse("both Content-Length and Transfer-Encoding");
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
      throw new BrokenResponse("a Content-Length that is no single number");
    }
    this.length = length;
  }

  #learnEncoding(value: string): void {
    if (value.toLowerCase() !== "chunked" || this.isChunked || !this.#isHttp11) {
      throw new BrokenResponse("a Transfer-Encoding other than chunked");
    }
    this.isChunked = true;
  }
}

/** Reads heads, and remembers the last: most responses of one target differ by nothing for a second. */
export class HeadReader {
  #text = "";
  #head: ResponseHead | undefined = undefined;

  /** As {@link readResponseHead}. The same head is the same object, so that others can remember it too. */
  read(text: string): ResponseHead {
    if (this.#head !== undefined && text === this.#text) return this.#head;
    const head = readResponseHead(text);
    this.#text = text;
    this.#head = head;
    return head;
  }
}
