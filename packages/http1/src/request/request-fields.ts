// The fields of a request, and what they say about its framing and its connection. A client that keeps its
// connection open mostly sends the same fields again and again: they are read once, and whoever makes
// something of them can remember it by the object.

import { mustBePlain, readFields, readValue } from "../message/fields.js";
import { MalformedMessage } from "../message/malformed-message.js";
import { toPassedFields } from "./passed-fields.js";

/** How the end of a body is known. */
export type BodyFraming = "none" | "length" | "chunked";

/** Fields by lower-case name, several lines of one joined as Node joins them. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** HTTP allows it, and servers differ about whether it belongs to the value. */
const TAB_BEHIND_FRAMING = /^(?:content-length|transfer-encoding):.*\t *\r/im;

/** Under which a user of request fields remembers a `T`. Each instance is a key of its own. */
export class FieldsMemoKey<T> {
  declare readonly value: T;
}

/** The fields of a request. */
export class RequestFields {
  /** Names and values in turn, in the client's order and spelling. */
  readonly raw: readonly string[];
  /** The value of Host; undefined if there is none, which only HTTP/1.0 allows. */
  readonly host: string | undefined;
  readonly framing: BodyFraming;
  /** What Content-Length says; 0 without one. */
  readonly length: number;
  /** In lower case; empty if there is none. */
  readonly expect: string;
  /** Whether the client lets the connection be used again. */
  readonly isKept: boolean;
  /** The protocol that is asked for, in lower case; empty if none is. */
  readonly upgrade: string;
  #remembered: unknown = undefined;
  #rememberedAs: FieldsMemoKey<unknown> | undefined = undefined;
  #values: HeaderValues | undefined = undefined;
  #passedValues: HeaderValues | undefined = undefined;

  /** @throws MalformedMessage if they leave a doubt about the end of the request, or about its host. */
  constructor(raw: readonly string[], minor: number) {
    const seen = new Seen(minor);
    for (let i = 0; i < raw.length; i += 2) seen.learn(raw[i], raw[i + 1]);
    this.raw = raw;
    this.framing = seen.toFraming();
    this.host = seen.host;
    this.length = Number(seen.length ?? 0);
    this.expect = seen.expect;
    const options = seen.connection.split(",").map((option) => readValue(option, 0, option.length));
    this.isKept = !options.includes("close") && (minor > 0 || options.includes("keep-alive"));
    this.upgrade = options.includes("upgrade") && minor > 0 ? seen.upgrade : "";
  }

  /** What was remembered under this key; undefined if nothing was, or something else since. */
  recall<T>(key: FieldsMemoKey<T>): T | undefined {
    return this.#rememberedAs === key ? (this.#remembered as T) : undefined;
  }

  /** Remembers one value that was derived from the fields, so that it need not be derived again. */
  remember<T>(key: FieldsMemoKey<T>, value: T): void {
    this.#rememberedAs = key;
    this.#remembered = value;
  }

  /** Whether a body follows. */
  get hasBody(): boolean {
    return this.framing === "chunked" || this.length > 0;
  }

  /** All of them by name. */
  get values(): HeaderValues {
    this.#values ??= toValues(this.raw);
    return this.#values;
  }

  /**
   * Those that are forwarded, by name; see {@link toPassedFields}. Computed once: the fields belong to one
   * connection, whose peer is either trusted or not.
   */
  passedValues(isPeerTrusted: boolean): HeaderValues {
    this.#passedValues ??= this.#toPassedValues(isPeerTrusted);
    return this.#passedValues;
  }

  #toPassedValues(isPeerTrusted: boolean): HeaderValues {
    const passed = toPassedFields(this.raw, isPeerTrusted);
    // The one protocol that the gateway asks its upstream for, too.
    if (this.upgrade === "websocket") passed.push("upgrade", this.upgrade);
    return toValues(passed);
  }

  /** A field by lower-case name; of several lines what {@link values} makes of them, as one text. */
  get(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === "object" ? value.join(", ") : value;
  }
}

/** What is learnt of the fields one by one. */
class Seen {
  host: string | undefined = undefined;
  length: string | undefined = undefined;
  coding: string | undefined = undefined;
  authorization: string | undefined = undefined;
  expect = "";
  connection = "";
  upgrade = "";
  readonly #minor: number;

  constructor(minor: number) {
    this.#minor = minor;
  }

  learn(name: string, value: string): void {
    switch (name.length) {
      case 4:
        if (isNamed(name, "host")) this.host = once(this.host, value);
        break;
      case 6:
        if (isNamed(name, "expect")) this.expect = joined(this.expect, value);
        break;
      case 7:
        if (isNamed(name, "upgrade")) this.upgrade = joined(this.upgrade, value);
        break;
      case 10:
        if (isNamed(name, "connection")) this.connection = joined(this.connection, value);
        break;
      case 13:
        // Servers differ in which of several they use, so it is not clear who asks.
        if (isNamed(name, "authorization")) this.authorization = once(this.authorization, value);
        break;
      case 14:
        if (isFraming(name, "content-length")) this.length = once(this.length, value);
        break;
      case 17:
        if (isFraming(name, "transfer-encoding")) this.coding = once(this.coding, value);
    }
  }

  toFraming(): BodyFraming {
    const { host, length, coding } = this;
    if (host === undefined ? this.#minor > 0 : !isHost(host)) throw new MalformedMessage("no Host");
    if (coding === undefined) {
      if (length === undefined) return "none";
      if (isLength(length)) return "length";
      throw new MalformedMessage("a Content-Length that is no number");
    }
    // HTTP/1.0 knows no codings: what stands before us may have taken the body for the next request.
    if (length !== undefined || this.#minor === 0 || coding.toLowerCase() !== "chunked") {
      throw new MalformedMessage("a Transfer-Encoding beside a length, or other than chunked");
    }
    return "chunked";
  }
}

function isNamed(name: string, lowerCase: string): boolean {
  return name.toLowerCase() === lowerCase;
}

/** @throws MalformedMessage if it is spelt with `_`: for some servers it frames the body, and for us not. */
function isFraming(name: string, lowerCase: string): boolean {
  const spelt = name.toLowerCase();
  if (spelt === lowerCase) return true;
  if (spelt.replaceAll("_", "-") === lowerCase) throw new MalformedMessage(`a field ${spelt}`);
  return false;
}

/** Several lines are one list. */
function joined(before: string, value: string): string {
  const next = value.toLowerCase();
  return before === "" ? next : `${before}, ${next}`;
}

function once(before: string | undefined, value: string): string {
  if (before !== undefined) throw new MalformedMessage("a field twice that may be there once");
  return value;
}

/** At most fifteen digits: every server counts so far. */
function isLength(length: string): boolean {
  return /^\d{1,15}$/.test(length);
}

/** A name or address with or without a port; empty is allowed by HTTP and useless to everybody. */
function isHost(host: string): boolean {
  return /^(?:[\w.~!$&'()*+;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i.test(host);
}

/** Of these the first line counts, as it does for Node. */
const FIRST_COUNTS: ReadonlySet<string> = new Set([
  "age",
  "content-length",
  "content-type",
  "etag",
  "expires",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "retry-after",
  "server",
  "user-agent",
]);

function toValues(raw: readonly string[]): HeaderValues {
  const values: Record<string, string | string[]> = Object.create(null);
  const setCookies: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    const before = values[name];
    const value = raw[i + 1];
    if (name === "set-cookie") {
      setCookies.push(value);
      values[name] = setCookies;
    } else if (before === undefined) values[name] = value;
    else if (!FIRST_COUNTS.has(name)) {
      values[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`;
    }
  }
  return values;
}

/** Longer ones are not remembered: thousands of idle connections would fill the memory with them. */
const KEPT_LENGTH_MAX = 2_048;

/** Reads the fields of one connection's requests, and remembers the last. */
export class FieldsReader {
  #text = "";
  #minor = 0;
  #fields: RequestFields | undefined = undefined;

  /**
   * @param text - The lines behind the request line, each with its end, without the empty one.
   * @throws MalformedMessage that says what is wrong with them.
   */
  read(text: string, minor: number, countMax: number): RequestFields {
    const known = this.#fields;
    if (known !== undefined && text === this.#text && minor === this.#minor) return known;
    mustBePlain(text);
    if (text.includes("\t") && TAB_BEHIND_FRAMING.test(text)) {
      throw new MalformedMessage("a tab behind what frames the body");
    }
    const raw = readFields(text, 0);
    if (raw.length > 2 * countMax) throw new MalformedMessage("too many fields", 431);
    const fields = new RequestFields(raw, minor);
    const isKept = text.length <= KEPT_LENGTH_MAX;
    this.#text = isKept ? text : "";
    this.#minor = minor;
    this.#fields = isKept ? fields : undefined;
    return fields;
  }
}
