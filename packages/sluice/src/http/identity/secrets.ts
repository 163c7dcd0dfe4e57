// Hashes of secrets: API keys and tokens are told apart by them, so that no secret stays in memory, in a
// store or in a log.

import { createHash, createHmac } from "node:crypto";

/** 128 bits: nobody finds two secrets with one hash, and a key stays short. */
const HASH_BYTES = 16;

/**
 * A hash of 22 characters. With `keySecret` it is an HMAC: who reads the store can then not try out
 * whether a secret that he guesses is known.
 */
export function hashSecret(secret: string, keySecret: string | undefined): string {
  const hash = keySecret === undefined ? createHash("sha256") : createHmac("sha256", keySecret);
  return hash.update(secret, "utf8").digest().subarray(0, HASH_BYTES).toString("base64url");
}
