// Where the decision API takes randomness from: ids that can't be guessed.

import { randomBytes } from "node:crypto";

const ID_BYTES = 16;

/** A random string of 22 characters. */
export function randomId(): string {
  return randomBytes(ID_BYTES).toString("base64url");
}
