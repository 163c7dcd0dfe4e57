// Keys in logs and top lists: a keyed hash, so that lines about one caller can be correlated, but no reader
// can identify the caller, not even by hashing all possible addresses.

import { createHmac } from "node:crypto";

const HASH_CHARS = 16;

/** Hashes keys. */
export type HashKey = (key: string) => string;

/** A function that hashes keys with this secret: `hmac:` and 16 hexadecimal digits. */
export function createHashKey(secret: string | Buffer): HashKey {
  return (key) => {
    const digest = createHmac("sha256", secret).update(key).digest("hex");
    return `hmac:${digest.slice(0, HASH_CHARS)}`;
  };
}
