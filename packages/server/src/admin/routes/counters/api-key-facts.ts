// API keys in what operators write. They are counted by a hash, so a key in clear is hashed here as every other listener
// does; where a key resolver knows keys, counter-verbs.ts asks it instead. A string that claims to be a hash has to look
// like one: else an operator would block a key that does not exist and get a success response. Keys of the control plane
// are counted by their id.

import { hashSecret } from "sluice/http";
import type { Facts } from "sluice/rules";
import { ServerError } from "../../../base/errors.js";
import type { Input } from "./counter-inputs.js";

/** What the hash of an API key looks like: 128 bits as base64url. */
const IS_HASH = /^[\w-]{22}$/;
/** What the id of a key of the control plane looks like. */
const IS_ID = /^[0-9A-Za-z]{12}$/;
const HASH_PREFIX = "apiKeyHash:";

/** How API keys are counted. */
export interface ApiKeyCounting {
  /** `identity.keySecret`: what the hash is keyed with, if anything. */
  readonly keySecret: string | undefined;
  /** Whether they are keys of the control plane, and so counted by their id. */
  readonly hasIds: boolean;
}

/**
 * Facts as policies take them: names of headers in lower case, and of the API key its hash or id.
 *
 * @throws ServerError if the key is given in more than one way, or the hash or id is malformed.
 */
export function toFacts(
  {
    apiKey,
    apiKeyHash,
    apiKeyId,
    headers = {},
    method = "GET",
    path = "/",
    ...facts
  }: Input<"check">["facts"],
  { keySecret, hasIds }: ApiKeyCounting,
): Facts {
  if ([apiKey, apiKeyHash, apiKeyId].filter((given) => given !== undefined).length > 1) {
    throw invalid(
      "facts have more than one of apiKey, apiKeyHash and apiKeyId: give the key, its hash or its id",
    );
  }
  if (apiKeyHash !== undefined) mustBeHash(apiKeyHash, "facts.apiKeyHash");
  if (apiKeyId !== undefined) mustBeId(apiKeyId, hasIds);
  const hash = apiKey === undefined ? (apiKeyHash ?? apiKeyId) : hashSecret(apiKey, keySecret);
  const lines = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    ...facts,
    method,
    path,
    headers: Object.fromEntries(lines),
    ...(hash === undefined ? {} : { apiKey: hash }),
  };
}

/** @throws ServerError if a part of a key stands for an API key and is neither a hash nor, where keys have them, an id. */
export function mustHaveHashes(key: string, { hasIds }: Pick<ApiKeyCounting, "hasIds">): void {
  for (const part of key.split("|").map((written) => written.trim())) {
    if (!part.startsWith(HASH_PREFIX)) continue;
    const value = part.slice(HASH_PREFIX.length).trim();
    if (!hasIds || !IS_ID.test(value)) mustBeHash(value, "key");
  }
}

function mustBeId(text: string, hasIds: boolean): void {
  if (!hasIds) {
    const seen =
      "facts.apiKeyId names a key of the control plane, and identity.apiKeys is not `control`";
    throw invalid(seen);
  }
  if (IS_ID.test(text)) return;
  // Not shown: it may be the API key itself.
  throw invalid(`facts.apiKeyId must be the id of an API key, 12 characters, got ${text.length}`);
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
