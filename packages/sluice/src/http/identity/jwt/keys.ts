// The keys by which tokens are verified, out of what a user gives: a secret, a public key or a set of
// keys. Which algorithms go with which of them is settled here, before any token is seen: a token must
// never choose that a public key is used as a secret.

import { createPublicKey } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createLocalJWKSet, type JWTVerifyGetKey, type KeyObject } from "jose";
import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";
import { fetchKeySet, toKeySetUrl } from "./fetch-key-set.js";
import { type JwtAlgorithm, PUBLIC_ALGORITHMS, SECRET_ALGORITHMS } from "./jwt-algorithms.js";

/** Where keys come from; exactly one of them is given. */
export interface JwtKeyOptions {
  /** The path of a JSON file with a key set. It is read again when it changes. */
  jwksFile?: string;
  /**
   * The URL of a key set, `https` or on a loopback address. It is fetched when first needed, again every
   * `jwksMaxAgeMs`, and when a token names a key that is not in it.
   */
  jwksUrl?: string;
  /** A key set: `{ keys: […] }`, public keys only. */
  jwks?: { readonly keys: readonly object[] };
  /** A public key or a certificate, as PEM. */
  key?: string;
  /** A shared secret, at least 32 bytes. */
  secret?: string | Uint8Array;
}

/** Keys that are ready to verify with. */
export type Keys = JWTVerifyGetKey | KeyObject | Uint8Array;

/** Below that a secret can be found by trying: RFC 7518 asks for the size of the hash. */
const SECRET_BYTES_MIN = 32;
const KINDS = ["jwksFile", "jwksUrl", "jwks", "key", "secret"] as const;

/** Keys that are at hand, and the file that they come from, if any; or where they have to be fetched. */
export type KeySource =
  | { readonly keys: Keys; readonly file: string | undefined; readonly url: undefined }
  | { readonly keys: undefined; readonly file: undefined; readonly url: URL };

/** The keys that the options give. */
export function toKeys(
  site: OptionSite,
  given: Readonly<Partial<Record<keyof JwtKeyOptions, unknown>>>,
): KeySource {
  const kinds = KINDS.filter((kind) => given[kind] !== undefined);
  if (kinds.length !== 1) {
    refuse(site, `needs exactly one of ${KINDS.join(", ")}, got ${kinds.join(" and ") || "none"}`);
  }
  switch (kinds[0]) {
    case "secret":
      return atHand(toSecretKey(site, given.secret));
    case "key":
      return atHand(toPublicKey(site, given.key));
    case "jwks":
      return atHand(toKeySet(site, "jwks", given.jwks));
    case "jwksUrl":
      return { keys: undefined, file: undefined, url: toKeySetUrl(site, given.jwksUrl) };
    default: {
      const { jwksFile } = given;
      if (typeof jwksFile !== "string")
        refuse(site, `jwksFile must be a path, got ${show(jwksFile)}`);
      return atHand(readKeyFile(site, jwksFile), jwksFile);
    }
  }
}

function atHand(keys: Keys, file?: string): KeySource {
  return { keys, file, url: undefined };
}

/** The algorithms that may be used, all of one kind. */
export function toAlgorithms(
  site: OptionSite,
  given: unknown,
  isSecret: boolean,
): readonly JwtAlgorithm[] {
  const known: readonly string[] = isSecret ? SECRET_ALGORITHMS : PUBLIC_ALGORITHMS;
  const isList = Array.isArray(given) && given.length > 0;
  if (isList && given.every((algorithm) => known.includes(algorithm))) return given;
  const kind = isSecret ? "a secret" : "public keys";
  refuse(site, `algorithms must list some of ${known.join(", ")} for ${kind}, got ${show(given)}`);
}

/** Reads a file of keys. Throws an error that says what is wrong with it. */
export function readKeyFile(site: OptionSite, path: string): Keys {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    refuse(site, `jwksFile ${show(path)} can't be read: ${(error as Error).message}`);
  }
  return toKeySet(site, `jwksFile ${show(path)}`, parsed);
}

/** Fetches a key set. Rejects with an error that says what is wrong with it. */
export async function readKeyUrl(
  site: OptionSite,
  url: URL,
): Promise<{ keys: JWTVerifyGetKey; text: string }> {
  const text = await fetchKeySet(url);
  const field = `jwksUrl ${url.origin}${url.pathname}`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    refuse(site, `${field} must be JSON`);
  }
  return { keys: toKeySet(site, field, parsed), text };
}

/** Changes when the file does. Throws if there is none. */
export function stampOf(path: string): string {
  const { mtimeMs, size, ino } = statSync(path);
  return `${mtimeMs}:${size}:${ino}`;
}

function toKeySet(site: OptionSite, field: string, given: unknown): JWTVerifyGetKey {
  const { keys } = (given ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys) || keys.length === 0) {
    refuse(site, `${field} must be a key set such as { keys: [...] } with a key in it`);
  }
  // Never shown: it may be a secret.
  const isPublic = (key: { kty?: unknown; d?: unknown } | null) =>
    typeof key?.kty === "string" && key.kty !== "oct" && key.d === undefined;
  if (!keys.every(isPublic)) refuse(site, `${field} must have public keys only`);
  return createLocalJWKSet(given as Parameters<typeof createLocalJWKSet>[0]);
}

function toPublicKey(site: OptionSite, pem: unknown): KeyObject {
  try {
    if (typeof pem === "string" && !pem.includes("PRIVATE KEY")) return createPublicKey(pem);
  } catch {
    // What is wrong with it is said below, without showing it.
  }
  refuse(site, "key must be a public key or a certificate, as PEM");
}

function toSecretKey(site: OptionSite, secret: unknown): Uint8Array {
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
  if (bytes instanceof Uint8Array && bytes.length >= SECRET_BYTES_MIN) return bytes;
  const seen = bytes instanceof Uint8Array ? `${bytes.length} bytes` : typeof secret;
  refuse(site, `secret must have at least ${SECRET_BYTES_MIN} bytes, got ${seen}`);
}
