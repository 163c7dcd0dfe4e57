// The Common Log Format of Apache and others, and the combined one of nginx, which adds referrer and user agent. Many
// configurations of nginx add X-Forwarded-For as a third quoted field, which is read too.

import { isIPv6 } from "node:net";
import { readIpv4 } from "../ipv4.js";
import { type EntryNeeds, LogEntry, RequestLine } from "../log-entry.js";
import type { FormatFacts, LineReader, LogFormat } from "../log-format.js";
import {
  DASH,
  endOfQuoted,
  indexOfByte,
  QUOTE,
  readRequestLine,
  SPACE,
  skipUnquoted,
  toText,
  toWhole,
  unescaped,
} from "./bytes.js";
import { Interned } from "./interned.js";
import { COMMON_TIME_LENGTH, CommonTimes } from "./times.js";

const OPENING = 0x5b;
const CLOSING = 0x5d;
/** How far the quote of a request is behind the bracket before a time without a fraction. */
const QUOTE_AFTER = COMMON_TIME_LENGTH + 3;

const COMMON_FACTS: FormatFacts = {
  user: true,
  host: false,
  tenant: false,
  tier: false,
  apiKey: false,
  status: true,
  bodyBytes: true,
  forwardedFor: false,
  headers: new Set<string>(),
  attributes: new Set<string>(),
};

/** The Common Log Format. */
export const common: LogFormat = {
  name: "common",
  title: "Common Log Format",
  facts: COMMON_FACTS,
  createReader: (needs) => new CommonReader(needs),
};

/** With referrer and user agent, as nginx and Apache write them by default. */
export const combined: LogFormat = {
  name: "combined",
  title: "nginx combined",
  facts: { ...COMMON_FACTS, forwardedFor: true, headers: new Set(["referer", "user-agent"]) },
  createReader: (needs) => new CommonReader(needs),
};

/** What a line has behind the Common Log Format: a quoted field, nothing, or it is not such a line. */
export function restOf(line: string): "quoted" | "none" | undefined {
  const found = /" \d{3} (?:\d+|-)( "|\r?$)/.exec(line);
  if (found === null) return undefined;
  return found[1] === ' "' ? "quoted" : "none";
}

/** Room for the requests of most minutes, and for callers without an IPv4 address, in a few megabytes. */
const ADDRESSES_MAX = 8_192;
const REQUESTS_MAX = 32_768;
const NOTHING = Buffer.alloc(0);

class CommonReader implements LineReader {
  problem = "";
  readonly #needs: EntryNeeds;
  readonly #readsQuoted: boolean;
  readonly #times = new CommonTimes();
  readonly #addresses = new Interned(ADDRESSES_MAX, toAddress);
  readonly #lines = new Interned(REQUESTS_MAX, toRequestLine);
  /** The bytes that were read last, in words. */
  #bytes: Buffer = NOTHING;
  #view: DataView = new DataView(NOTHING.buffer, 0, 0);
  /** How far the line is read. */
  #at = 0;

  constructor(needs: EntryNeeds) {
    this.#needs = needs;
    this.#readsQuoted = needs.forwardedFor || needs.headers.size > 0;
  }

  read(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    if (bytes !== this.#bytes) this.#look(bytes);
    const view = this.#view;
    const clientEnd = indexOfByte(bytes, SPACE, from, to);
    const opening = this.#readUser(bytes, clientEnd, to, entry);
    const closing = closingOf(bytes, opening, to);
    const atMs = closing === to ? Number.NaN : this.#times.read(bytes, view, opening + 1, closing);
    if (Number.isNaN(atMs)) return this.#fail("no time such as [17/Nov/2026:12:00:00 +0000]");
    entry.atMs = atMs;
    if (!this.#readClient(bytes, from, clientEnd, entry))
      return this.#fail("the client is not an address");
    entry.isPlain = entry.user === undefined && !this.#readsQuoted;
    return this.#readRequest(bytes, closing + 3, to, entry);
  }

  #readClient(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    const ipv4 = readIpv4(bytes, from, to);
    entry.ipv4 = ipv4;
    const isIpv4 = !Number.isNaN(ipv4);
    entry.ip = isIpv4 ? undefined : this.#addresses.get(bytes, this.#view, from, to);
    return isIpv4 || entry.ip !== undefined;
  }

  #look(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Returns where the time begins. Behind the address are an identity that no server knows, and the user. */
  #readUser(bytes: Buffer, from: number, to: number, entry: LogEntry): number {
    const usual = from + 5;
    // The quote has to be there too, since a name may begin with a dash and a bracket.
    const isUsual =
      bytes[from + 3] === DASH && bytes[usual] === OPENING && bytes[from + 2] === SPACE;
    if (
      isUsual &&
      bytes[usual + QUOTE_AFTER] === QUOTE &&
      bytes[usual + QUOTE_AFTER - 1] === SPACE
    ) {
      entry.user = undefined;
      return usual;
    }
    const identEnd = indexOfByte(bytes, SPACE, from + 1, to);
    const opening = openingOf(bytes, identEnd, to);
    entry.user = toUser(bytes, identEnd + 1, opening - 1);
    return opening;
  }

  #readRequest(bytes: Buffer, start: number, to: number, entry: LogEntry): boolean {
    if (bytes[start - 1] !== QUOTE || start > to) return this.#fail("no request in quotes");
    const end = endOfQuoted(bytes, skipUnquoted(this.#view, start, to), to);
    if (end < 0) return this.#fail("cut off in the request");
    const line = this.#lines.get(bytes, this.#view, start, end);
    if (line === undefined) return this.#fail("no request line");
    entry.line = line;
    return this.#readResponse(bytes, end + 2, to, entry);
  }

  #readResponse(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    const statusEnd = indexOfByte(bytes, SPACE, from, to);
    const status = toWhole(bytes, from, statusEnd);
    if (status < 100 || status > 999) return this.#fail("no status after the request");
    entry.status = status;
    const sizeEnd = indexOfByte(bytes, SPACE, statusEnd + 1, to);
    const isDash = bytes[statusEnd + 1] === DASH && sizeEnd === statusEnd + 2;
    entry.bodyBytes = isDash ? 0 : toWhole(bytes, statusEnd + 1, sizeEnd);
    if (entry.bodyBytes < 0) return this.#fail("no size after the status");
    return !this.#readsQuoted || this.#readQuoted(bytes, sizeEnd + 1, to, entry);
  }

  /** Referrer, user agent and X-Forwarded-For, as far as they are there. */
  #readQuoted(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    this.#at = from;
    const referer = this.#nextQuoted(bytes, to);
    const userAgent = this.#nextQuoted(bytes, to);
    const forwardedFor = this.#nextQuoted(bytes, to);
    if (this.#at < 0) return this.#fail("cut off in a quoted field");
    entry.headers =
      this.#needs.headers.size === 0 ? undefined : { referer, "user-agent": userAgent };
    entry.forwardedFor = forwardedFor;
    return true;
  }

  #nextQuoted(bytes: Buffer, to: number): string | undefined {
    const from = this.#at;
    if (from < 0 || from >= to || bytes[from] !== QUOTE) return undefined;
    const end = endOfQuoted(bytes, from + 1, to);
    this.#at = end < 0 ? -1 : end + 2;
    const text = end < 0 ? "-" : unescaped(toText(bytes, from + 1, end));
    return text === "-" || text === "" ? undefined : text;
  }

  #fail(problem: string): false {
    this.problem = problem;
    return false;
  }
}

/**
 * Where the time begins, behind a user: at the last bracket before the request. Names may have brackets, with which a
 * client could otherwise make its lines malformed; quotes of names are escaped.
 */
function openingOf(bytes: Buffer, from: number, to: number): number {
  let quote = endOfQuoted(bytes, from, to);
  while (quote >= 0 && (bytes[quote - 1] !== SPACE || bytes[quote - 2] !== CLOSING))
    quote = endOfQuoted(bytes, quote + 1, to);
  if (quote < 0) return indexOfByte(bytes, OPENING, from, to);
  let opening = quote - 3;
  while (opening > from && bytes[opening] !== OPENING) opening--;
  return opening;
}

/** Where the time ends; `to` if it does not. */
function closingOf(bytes: Buffer, opening: number, to: number): number {
  const usual = opening + COMMON_TIME_LENGTH + 1;
  return bytes[usual] === CLOSING && usual < to ? usual : indexOfByte(bytes, CLOSING, opening, to);
}

/** Zones that rules by address accept. */
const ZONE = /%[\w.:-]+$/;

/** An address of IPv6. Those of IPv4 were read before. */
function toAddress(bytes: Buffer, from: number, to: number): string | undefined {
  const text = toText(bytes, from, to);
  return isIPv6(text) && (!text.includes("%") || ZONE.test(text)) ? text : undefined;
}

function toRequestLine(bytes: Buffer, from: number, to: number): RequestLine | undefined {
  const entry = new LogEntry();
  if (!readRequestLine(bytes, from, to, entry)) return undefined;
  return new RequestLine(entry.method, entry.path);
}

function toUser(bytes: Buffer, from: number, to: number): string | undefined {
  if (to <= from || (to === from + 1 && bytes[from] === DASH)) return undefined;
  const text = toText(bytes, from, to);
  // Apache writes an empty name so.
  return text === '""' ? undefined : unescaped(text);
}
