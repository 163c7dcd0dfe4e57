// Where the decision API takes chance from: ids that nobody guesses.

import { randomBytes } from "node:crypto";

const ID_BYTES = 16;

/** A text of 22 characters that was never there before. */
export function randomId(): string {
  return randomBytes(ID_BYTES).toString("base64url");
}
