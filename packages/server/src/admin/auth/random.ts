// Where the admin port takes randomness from: secrets of sessions and ids of changes.

import { randomBytes } from "node:crypto";

const SECRET_BYTES = 32;

/** A random string of 43 characters. */
export function randomSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}
