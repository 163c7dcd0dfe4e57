// The service's source of randomness for ids and for the secrets of sessions.

import { randomBytes } from "node:crypto";

/** A string that can't be guessed, of this many random bytes: 22 characters for 16. */
export function randomId(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
