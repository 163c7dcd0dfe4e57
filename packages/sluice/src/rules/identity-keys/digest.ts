// The digest that replaces a value in a key if the value is secret or too long.

import { createHash } from "node:crypto";

const DIGEST_BYTES = 16;

/** What a digest looks like: 128 bits as base64url. */
export const DIGEST = /^[\w-]{22}$/;

/** The first 128 bits of the SHA-256 of a string, as base64url. */
export function toDigest(text: string): string {
  // As UTF-16: UTF-8 would write every lone surrogate alike.
  const hash = createHash("sha256").update(text, "utf16le").digest();
  return hash.toString("base64url", 0, DIGEST_BYTES);
}
