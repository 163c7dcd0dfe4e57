// Bodies, as far as rules count by their fields: the top level of a JSON object or of a form. This file
// only parses; each runtime reads the bytes, and puts them back, in its own way.

import type { Clock } from "../../../base/clock.js";
import { toSpelling, toVariableSpelling } from "../spelling.js";

/** Top-level fields of a body, by name. */
export type BodyFields = Readonly<Record<string, unknown>>;

/** How much of a body is waited for. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** How long it may take to arrive. */
  readonly arrivalMsMax: number;
  readonly clock: Clock;
}

/** How many pieces of a body are kept before they are joined: one of a single byte takes as much memory as a hundred. */
export const PIECES_MAX = 64;

/** A form of body that has fields. */
export type BodyForm = "json" | "form";

/** The value of a header. */
export type HeaderValue = string | readonly string[] | undefined | null;

/** Which form a body has; undefined if none that is read: other types, compressed, not in UTF-8. */
export function toBodyForm(
  contentType: HeaderValue,
  contentEncoding: HeaderValue,
): BodyForm | undefined {
  if (isEncoded(contentEncoding)) return undefined;
  const type = toUtf8Type(contentType);
  if (type === "application/x-www-form-urlencoded") return "form";
  return type !== undefined && isJsonType(type) ? "json" : undefined;
}

/** Whether a body is compressed. */
export function isEncoded(contentEncoding: HeaderValue): boolean {
  return typeof contentEncoding === "string" && contentEncoding.trim().toLowerCase() !== "identity";
}

/** The media type of a body in UTF-8, in lower case and without parameters; undefined if it is in anything else. */
export function toUtf8Type(contentType: HeaderValue): string | undefined {
  if (typeof contentType !== "string") return undefined;
  const [type, ...parameters] = contentType.toLowerCase().match(PARTS) ?? [""];
  return parameters.every(isUtf8) ? type.trim() : undefined;
}

/** Whether a media type is JSON: `application/json`, or one that ends in `+json`. */
export function isJsonType(type: string): boolean {
  return type === "application/json" || /^[\w.-]+\/[\w.-]+\+json$/.test(type);
}

/** A part between semicolons; semicolons in quotes belong to a value. */
const PARTS = /(?:"(?:[^"\\]|\\.)*"?|[^;"])+/g;

function isUtf8(parameter: string): boolean {
  const [, name, value] = /^([^=]*)=?(.*)$/s.exec(parameter) ?? ["", "", ""];
  if (name.trim() !== "charset") return true;
  // A quoted value may have any of its characters escaped.
  const text = value.trim().replace(/^"(.*)"$/s, (_all, quoted) => quoted.replace(/\\(.)/gs, "$1"));
  return /^(?:utf-?8|us-ascii)$/.test(text);
}

/**
 * The fields of a body; undefined if it is malformed or not an object. Of a name that a JSON object has
 * twice the last counts, as for every user of `JSON.parse`. A name that a form has twice is left out, and
 * so is one that either has in several spellings: applications differ in which value they take. No name is special,
 * `__proto__` neither.
 */
export function parseBody(form: BodyForm, bytes: Uint8Array): BodyFields | undefined {
  try {
    // Bytes that are not UTF-8 are read as applications read them: they go on with a substitute.
    const text = new TextDecoder("utf-8").decode(bytes);
    if (form === "form") {
      return toCertainFields([...new URLSearchParams(text)], toVariableSpelling);
    }
    const fields = toFields(JSON.parse(text));
    return fields === undefined ? undefined : toCertainFields(Object.entries(fields), toSpelling);
  } catch {
    return undefined;
  }
}

/** What a framework parsed, if it is a plain object: no list, no bytes, no stream. */
export function toFields(parsed: unknown): BodyFields | undefined {
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const prototype = Object.getPrototypeOf(parsed);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return undefined;
  // A copy without a prototype, or `constructor` would be a field of every body.
  return Object.assign(Object.create(null), parsed);
}

/**
 * The fields without names that come twice, or in several spellings: a caller could be counted by one of them and log in
 * by the other.
 */
function toCertainFields(
  entries: readonly (readonly [string, unknown])[],
  toSpelt: (name: string) => string,
): BodyFields {
  const spellings = entries.map(([name]) => toSpelt(name));
  const counts = new Map<string, number>();
  for (const spelt of spellings) counts.set(spelt, (counts.get(spelt) ?? 0) + 1);
  const fields: Record<string, unknown> = Object.create(null);
  entries.forEach(([name, value], i) => {
    if (counts.get(spellings[i]) === 1) fields[name] = value;
  });
  return fields;
}
