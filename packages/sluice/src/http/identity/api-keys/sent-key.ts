// The API key that a request shows. Without a resolver it is hashed as it is read, and only the hash leaves identity;
// with one, the key goes to the resolver and nowhere else.

import type { HttpRequest } from "../http-request.js";
import { hashSecret } from "../secrets.js";
import { toVariableSpelling } from "../spelling.js";
import { SEVERAL_KEYS } from "./key-resolver.js";

// Taken off their prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt, includes, trim } = String.prototype;

const SPACE = 0x20;
const DELETE = 0x7f;

/** Where keys are looked for. At least one place is given. */
export interface ApiKeyPlaces {
  readonly header: string | undefined;
  readonly query: string | undefined;
  /** In lower case. */
  readonly scheme: string | undefined;
  readonly keySecret: string | undefined;
}

/**
 * The hash of the request's API key. The same key gives the same hash wherever it stands. Undefined if
 * there is none, or if the request shows two different ones: it is not known which of them
 * the application will use.
 */
export function readApiKey(
  places: ApiKeyPlaces | undefined,
  request: HttpRequest,
): string | undefined {
  const key = readSentKey(places, request);
  if (key === undefined || key === SEVERAL_KEYS) return undefined;
  return hashSecret(key, places?.keySecret);
}

/** The key itself, {@link SEVERAL_KEYS} if there are several different ones; undefined if there is none. */
export function readSentKey(
  places: ApiKeyPlaces | undefined,
  request: HttpRequest,
): string | undefined {
  if (places === undefined) return undefined;
  const { header, scheme, query } = places;
  if (header !== undefined && scheme === undefined && query === undefined) {
    const line = request.headers[header];
    // Most requests have one place to look at, and one key in it.
    if (line === undefined) return undefined;
    if (typeof line === "string" && !includes.call(line, ",")) {
      return isTrimmed(line) ? line : trim.call(line) || undefined;
    }
  }
  const keys = new Set<string>();
  if (header !== undefined) addLines(keys, request.headers[header]);
  if (scheme !== undefined) addCredentials(keys, request.headers.authorization, scheme);
  if (query !== undefined) addQuery(keys, request.target, query);
  if (keys.size > 1) return SEVERAL_KEYS;
  const [key] = keys;
  return key;
}

/** Whether a string starts and ends with what is certainly not white space. */
function isTrimmed(line: string): boolean {
  return (
    isPrintable(charCodeAt.call(line, 0)) && isPrintable(charCodeAt.call(line, line.length - 1))
  );
}

/** False for NaN, which an empty string starts with. */
function isPrintable(code: number): boolean {
  return code > SPACE && code < DELETE;
}

function addLines(keys: Set<string>, lines: string | readonly string[] | undefined): void {
  if (lines === undefined) return;
  for (const line of typeof lines === "string" ? [lines] : lines) {
    // Several lines may arrive as one, with commas.
    for (const part of line.split(",")) add(keys, part);
  }
}

function addCredentials(
  keys: Set<string>,
  lines: string | readonly string[] | undefined,
  scheme: string,
): void {
  const line = typeof lines === "string" ? lines : lines?.[0];
  const space = line?.indexOf(" ") ?? -1;
  if (line !== undefined && space > 0 && line.slice(0, space).toLowerCase() === scheme) {
    add(keys, line.slice(space + 1));
  }
}

function addQuery(keys: Set<string>, target: string, name: string): void {
  const start = target.indexOf("?");
  if (start < 0) return;
  const [query] = target.slice(start + 1).split("#", 1);
  // Names too are decoded, or `api%5Fkey` would be a key that only the application sees.
  const parameters = new URLSearchParams(query);
  // Beside a key, one under a name that the application may take for the same counts too.
  if (keys.size === 0 && !parameters.has(name)) return;
  const spelt = toVariableSpelling(name);
  for (const [each, value] of parameters) if (toVariableSpelling(each) === spelt) add(keys, value);
}

function add(keys: Set<string>, text: string): void {
  const key = text.trim();
  if (key !== "") keys.add(key);
}
