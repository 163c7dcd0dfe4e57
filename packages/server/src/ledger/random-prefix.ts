// What makes the idempotency keys of one process unlike those of any other.

import { randomBytes } from "node:crypto";

/** 12 random characters. */
export function randomPrefix(): string {
  return randomBytes(9).toString("base64url");
}
