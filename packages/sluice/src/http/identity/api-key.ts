// The API key of a request, hashed as it is read: what leaves this file is never the key itself.

import type { HttpRequest } from "./http-request.js";
import { hashSecret } from "./secrets.js";

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
  if (places === undefined) return undefined;
  const keys = new Set<string>();
  if (places.header !== undefined) addLines(keys, request.headers[places.header]);
  if (places.scheme !== undefined)
    addCredentials(keys, request.headers.authorization, places.scheme);
  if (places.query !== undefined) addQuery(keys, request.target, places.query);
  if (keys.size !== 1) return undefined;
  const [key] = keys;
  return hashSecret(key, places.keySecret);
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
  for (const value of new URLSearchParams(query).getAll(name)) add(keys, value);
}

function add(keys: Set<string>, text: string): void {
  const key = text.trim();
  if (key !== "") keys.add(key);
}
