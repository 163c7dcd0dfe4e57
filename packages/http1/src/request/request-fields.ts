// The header fields of a request, and what they say about its framing and its connection. A client that keeps its
// connection open mostly sends the same fields again: they are parsed once, and a listener can store what it derives from
// them on the same object.

import { mustBePlain, readFields, readValue } from "../message/fields.js";
import { MalformedMessage } from "../message/malformed-message.js";
import { type HeaderValues, toSplitValues, toValues } from "./field-values.js";
import { toPassedFields } from "./passed-fields.js";

export type { HeaderValues } from "./field-values.js";

/** How the end of a body is known. */
export type BodyFraming = "none" | "length" | "chunked";

/** HTTP allows a tab there, and servers differ about whether it belongs to the value. */
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
  /** The value of Content-Length; 0 without one. */
  readonly length: number;
  /** The value of Expect, in lower case; empty if there is none. */
  readonly expect: string;
  /** Whether the client keeps the connection open. */
  readonly isKept: boolean;
  /** The protocol that the client wants to switch to, in lower case; empty if none. */
  readonly upgrade: string;
  /** What a listener derived from these fields and keeps for the next request that has them. */
  #remembered: unknown = undefined;
  #rememberedAs: FieldsMemoKey<unknown> | undefined = undefined;
  #values: HeaderValues | undefined = undefined;
  #passedValues: HeaderValues | undefined = undefined;

  /** @throws MalformedMessage if the end of the request or its host is not certain. */
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
   * The fields that a proxy forwards, by name; see {@link toPassedFields}. Several lines of a field that is not a list by
   * its definition are a list here: servers differ in which of them they use. Computed once: the fields belong to one
   * connection, whose peer is either trusted or not.
   */
  passedValues(isPeerTrusted: boolean): HeaderValues {
    this.#passedValues ??= this.#toPassedValues(isPeerTrusted);
    return this.#passedValues;
  }

  #toPassedValues(isPeerTrusted: boolean): HeaderValues {
    const passed = toPassedFields(this.raw, isPeerTrusted);
    // The only protocol that is forwarded.
    if (this.upgrade === "websocket") passed.push("upgrade", this.upgrade);
    return toSplitValues(passed);
  }

  /** A field by lower-case name; several lines are joined into one string. */
  get(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === "object" ? value.join(", ") : value;
  }
}

/** What the fields say, collected one by one. */
class Seen {
  host: string | undefined = undefined;
  length: string | undefined = undefined;
  coding: string | undefined = undefined;
  authorization: string | undefined = undefined;
  contentType: string | undefined = undefined;
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
      case 12:
        // Servers differ in which of several they use, so what the body says would not be certain.
        if (isNamed(name, "content-type")) this.contentType = once(this.contentType, value);
        break;
      case 13:
        // Servers differ in which of several they use, so the caller would not be certain.
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
    if (host === undefined ? this.#minor > 0 : !isHost(host))
      throw new MalformedMessage("Host is missing or invalid");
    if (coding === undefined) {
      if (length === undefined) return "none";
      if (isLength(length)) return "length";
      throw new MalformedMessage("Content-Length is not a number");
    }
    // HTTP/1.0 has no codings: a proxy in front may have read the body as the next request.
    if (length !== undefined || this.#minor === 0 || coding.toLowerCase() !== "chunked") {
      throw new MalformedMessage(
        "Transfer-Encoding is not chunked, or Content-Length is present too",
      );
    }
    return "chunked";
  }
}

function isNamed(name: string, lowerCase: string): boolean {
  return name.toLowerCase() === lowerCase;
}

/** @throws MalformedMessage if it is spelt with `_`: some servers would frame the body by it. */
function isFraming(name: string, lowerCase: string): boolean {
  const spelt = name.toLowerCase();
  if (spelt === lowerCase) return true;
  if (spelt.replaceAll("_", "-") === lowerCase)
    throw new MalformedMessage(`the field ${spelt} is ambiguous`);
  return false;
}

/** Several lines are one list. */
function joined(before: string, value: string): string {
  const next = value.toLowerCase();
  return before === "" ? next : `${before}, ${next}`;
}

function once(before: string | undefined, value: string): string {
  if (before !== undefined) throw new MalformedMessage("a field that may occur once occurs twice");
  return value;
}

/** At most fifteen digits: every server can count that far. */
function isLength(length: string): boolean {
  return /^\d{1,15}$/.test(length);
}

/** A name or address with or without a port. HTTP allows an empty one, which is of no use. */
function isHost(host: string): boolean {
  return /^(?:[\w.~!$&'()*+;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i.test(host);
}

/** Longer heads are not remembered: thousands of idle connections would fill the memory with them. */
const KEPT_LENGTH_MAX = 2_048;

/** Reads the fields of one connection's requests, and remembers the last. */
export class FieldsReader {
  #text = "";
  #minor = 0;
  #fields: RequestFields | undefined = undefined;

  /**
   * @param text - The lines after the request line, each with its end, without the empty line.
   * @throws MalformedMessage that says what is wrong with them.
   */
  read(text: string, minor: number, countMax: number): RequestFields {
    const known = this.#fields;
    if (known !== undefined && text === this.#text && minor === this.#minor) return known;
    mustBePlain(text);
    if (text.includes("\t") && TAB_BEHIND_FRAMING.test(text)) {
      throw new MalformedMessage("a value that frames the body is followed by a tab");
    }
    const raw = readFields(text, 0);
    if (raw.length > 2 * countMax)
      throw new MalformedMessage("there are too many header fields", 431);
    const fields = new RequestFields(raw, minor);
    const isKept = text.length <= KEPT_LENGTH_MAX;
    this.#text = isKept ? text : "";
    this.#minor = minor;
    this.#fields = isKept ? fields : undefined;
    return fields;
  }
}
