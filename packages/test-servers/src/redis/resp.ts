// The Redis protocol, as much as tests need: commands out, replies in, RESP2 and RESP3. It exists
// so that servers can be driven without the client libraries that are under test.

/** A parsed reply. Errors inside a list stay values; maps and sets come as flat lists. */
export type Reply = string | number | boolean | null | RedisError | Push | Reply[];

/** An error that a Redis server answered with; `message` is its line, such as `READONLY …`. */
export class RedisError extends Error {
  /** The first word of the line: `NOSCRIPT`, `MOVED`, `ERR`. */
  get code(): string {
    return this.message.split(" ", 1)[0] as string;
  }
}

/** Something that a server sent without being asked, in RESP3. */
export class Push {
  constructor(readonly items: Reply[]) {}
}

/** How bytes become text: `latin1` keeps any bytes apart, for keys that are not text. */
export type TextEncoding = "utf8" | "latin1";

/** One command as bytes. */
export function encodeCommand(
  args: readonly (string | number)[],
  encoding: TextEncoding = "utf8",
): Buffer {
  const parts = args.map((arg) => Buffer.from(String(arg), encoding));
  const chunks = parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, lineEnd]);
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...chunks]);
}

const lineEnd = Buffer.from("\r\n");

/** The most bytes that one reply may have: 64 MiB. */
export const replyBytesMax: number = 64 * 1024 * 1024;

/** Turns a stream of chunks into replies, whatever the chunks' borders. */
export class ReplyReader {
  readonly #encoding: TextEncoding;
  #rest: Buffer = Buffer.alloc(0);

  constructor(encoding: TextEncoding = "utf8") {
    this.#encoding = encoding;
  }

  /** The replies that `chunk` completes; throws if the bytes are not the Redis protocol. */
  push(chunk: Buffer): Reply[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const replies: Reply[] = [];
    let from = 0;
    while (from < bytes.length) {
      const parsed = parse(bytes, from, this.#encoding);
      if (parsed === undefined) break;
      replies.push(parsed.reply);
      from = parsed.end;
    }
    this.#rest = bytes.subarray(from);
    if (this.#rest.length > replyBytesMax) throw new Error(`a reply over ${replyBytesMax} bytes`);
    return replies;
  }
}

interface Parsed {
  readonly reply: Reply;
  readonly end: number;
}

/** The reply that starts at `from`, or undefined if its end has not come yet. */
function parse(bytes: Buffer, from: number, encoding: TextEncoding): Parsed | undefined {
  const lineTo = bytes.indexOf(lineEnd, from);
  const type = String.fromCharCode(bytes[from] as number);
  if (!"+-:$*_#,(!=%~>|".includes(type)) throw new Error(`"${type}" opens no Redis reply`);
  if (lineTo < 0) return undefined;
  const line = bytes.toString(encoding, from + 1, lineTo);
  const end = lineTo + lineEnd.length;
  if ("$!=".includes(type)) return parseBulk(bytes, end, Number(line), type, encoding);
  if ("*%~>|".includes(type)) return parseList(bytes, end, Number(line), type, encoding);
  return { reply: parseLine(type, line), end };
}

function parseLine(type: string, line: string): Reply {
  if (type === "-") return new RedisError(line);
  if (type === ":" || type === ",") return Number(line);
  if (type === "_") return null;
  return type === "#" ? line === "t" : line;
}

function parseBulk(
  bytes: Buffer,
  from: number,
  length: number,
  type: string,
  encoding: TextEncoding,
): Parsed | undefined {
  if (length < 0) return { reply: null, end: from };
  const end = from + length + lineEnd.length;
  if (end > bytes.length) return undefined;
  const text = bytes.toString(encoding, from, from + length);
  return { reply: type === "!" ? new RedisError(text) : text, end };
}

function parseList(
  bytes: Buffer,
  from: number,
  length: number,
  type: string,
  encoding: TextEncoding,
): Parsed | undefined {
  if (length < 0) return { reply: null, end: from };
  const items: Reply[] = [];
  let end = from;
  const count = type === "%" || type === "|" ? 2 * length : length;
  while (items.length < count) {
    const item = end < bytes.length ? parse(bytes, end, encoding) : undefined;
    if (item === undefined) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  // Attributes only announce the reply that follows them.
  if (type === "|") return end < bytes.length ? parse(bytes, end, encoding) : undefined;
  return { reply: type === ">" ? new Push(items) : items, end };
}
