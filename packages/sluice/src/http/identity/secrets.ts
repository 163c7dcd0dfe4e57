// Hashes of secrets. API keys and tokens are identified by their hash, so that no secret stays in memory, in a
// store or in a log.

import { createHash, createHmac, randomBytes } from "node:crypto";

/** 128 bits: two secrets never share a hash in practice, and a key stays short. */
const HASH_BYTES = 16;

const SECRET_BYTES = 32;

/** A secret for hashes that only this process has to make again. */
export function makeHashSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64");
}

/**
 * A hash of 22 characters. With `keySecret` it is an HMAC, so that a reader of the store can't check guesses of
 * a secret.
 */
export function hashSecret(secret: string, keySecret: string | undefined): string {
  const hash = keySecret === undefined ? createHash("sha256") : createHmac("sha256", keySecret);
  return hash.update(secret, "utf8").digest().subarray(0, HASH_BYTES).toString("base64url");
}

const ID_BYTES = 12;

/** An id of 16 characters that can't be guessed. */
export function makeRandomId(): string {
  return randomBytes(ID_BYTES).toString("base64url");
}
