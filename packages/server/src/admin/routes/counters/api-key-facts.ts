// API keys in what operators write. They are counted by a hash, so a key in clear is hashed here as every
// other listener does, and a text that claims to be a hash has to look like one: else an operator would block
// a key that does not exist and get a success response.

import { hashSecret } from "sluice/http";
import type { Facts } from "sluice/rules";
import { ServerError } from "../../../base/errors.js";
import type { Input } from "./counter-inputs.js";

/** What the hash of an API key looks like: 128 bits as base64url. */
const IS_HASH = /^[\w-]{22}$/;
const HASH_PREFIX = "apiKeyHash:";

/**
 * Facts as policies take them: names of headers in lower case, and of the API key its hash.
 *
 * @param keySecret - `identity.keySecret`: what the hash is keyed with, if anything.
 * @throws ServerError if both the key and a hash are given, or the hash is none.
 */
export function toFacts(
  {
    apiKey,
    apiKeyHash,
    headers = {},
    method = "GET",
    path = "/",
    ...facts
  }: Input<"check">["facts"],
  keySecret: string | undefined,
): Facts {
  if (apiKey !== undefined && apiKeyHash !== undefined) {
    throw invalid("facts have apiKey and apiKeyHash: give the key or its hash");
  }
  if (apiKeyHash !== undefined) mustBeHash(apiKeyHash, "facts.apiKeyHash");
  const hash = apiKey === undefined ? apiKeyHash : hashSecret(apiKey, keySecret);
  const lines = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    ...facts,
    method,
    path,
    headers: Object.fromEntries(lines),
    ...(hash === undefined ? {} : { apiKey: hash }),
  };
}

/** @throws ServerError if a part of a key stands for an API key and is not a hash. */
export function mustHaveHashes(key: string): void {
  for (const part of key.split("|").map((written) => written.trim())) {
    if (part.startsWith(HASH_PREFIX)) mustBeHash(part.slice(HASH_PREFIX.length).trim(), "key");
  }
}

function mustBeHash(text: string, where: string): void {
  if (IS_HASH.test(text)) return;
  // Not shown: it may be the API key itself.
  const seen = `${where} must have the hash of an API key, 22 characters as explain shows them`;
  throw invalid(`${seen}, got ${text.length}; facts.apiKey takes the key itself`);
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
