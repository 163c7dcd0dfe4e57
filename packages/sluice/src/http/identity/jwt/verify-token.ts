// Verifies a token with the keys that fit it. Usually one does; during a rotation a set may hold two under one
// name, or a token may name none. Then each is tried, up to a bound: every try costs the time of a signature.

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import type { Keys } from "./keys.js";

/** If more keys than this fit a token, only the first ones are tried. */
export const KEYS_TRIED_MAX = 8;

/** The claims of a token. Rejects with an error of jose that says why there are none. */
export async function verifyToken(
  token: string,
  keys: Keys,
  checks: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    // An overload for each kind of key: with a function the result also names the key.
    const found = await (typeof keys === "function"
      ? jwtVerify(token, keys, checks)
      : jwtVerify(token, keys, checks));
    return found.payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    return tryEach(token, error, checks);
  }
}

async function tryEach(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  checks: JWTVerifyOptions,
): Promise<JWTPayload> {
  let tried = 0;
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, checks)).payload;
    } catch (error) {
      // Any other failure is the token's own: its signature fits this key.
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
    if (++tried === KEYS_TRIED_MAX) break;
  }
  throw new errors.JWSSignatureVerificationFailed();
}
