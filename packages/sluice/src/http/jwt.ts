/**
 * Verified tokens: claims that rules may count by. A token that is not verified is never believed.
 *
 * @module
 */

import { errors, type JWTVerifyOptions, jwtVerify } from "jose";
import { type Clock, toClock } from "../clock.js";
import { show } from "../errors.js";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import { asOptions, type OptionSite, orDefault, refuse, whole } from "../options.js";
import { parseCookies } from "./cookies.js";
import type { TokenVerifier } from "./identity-options.js";
import type { Claims } from "./identity-sources.js";
import { TokenCache } from "./jwt-cache.js";
import {
  type JwtAlgorithm,
  type JwtKeyOptions,
  type Keys,
  readKeyFile,
  stampOf,
  toAlgorithms,
  toKeys,
} from "./jwt-keys.js";
import type { RequestView } from "./request-view.js";
import { hashSecret } from "./secrets.js";

export type { JwtAlgorithm, JwtKeyOptions } from "./jwt-keys.js";

/** Options of {@link jwtVerifier}: where the keys are, and what a token has to say. */
export interface JwtOptions extends JwtKeyOptions {
  /** The algorithms that may be used, all for public keys or all for a secret. */
  algorithms: readonly JwtAlgorithm[];
  /** Who has to have issued it, or one of several. Default: anybody who has the key. */
  issuer?: string | readonly string[];
  /** For whom it has to be, or one of several. Default: not asked. */
  audience?: string | readonly string[];
  /** By how much clocks may differ, in seconds from 0 to 300; default 0. */
  clockToleranceSeconds?: number;
  /**
   * The field that has it, as `Bearer` credentials or alone; default `"authorization"`. False: none.
   */
  header?: string | false;
  /** The cookie that has it, where the field has none that can be believed. Default: none. */
  cookie?: string;
  /** How many verified tokens are remembered, 0 to 1,000,000; default 10,000. */
  tokensMax?: number;
  /** Told why a token was not believed, never which. What it throws is dropped. */
  onRejected?: (rejection: { readonly reason: TokenRejection }) => unknown;
  /** Default: the system's. */
  clock?: Clock;
}

/** Why a token was not believed. */
export type TokenRejection =
  | "too-long"
  | "malformed"
  | "unsupported"
  | "algorithm"
  | "key"
  | "signature"
  | "expired"
  | "not-yet-valid"
  | "issuer"
  | "audience"
  | "claims";

/** What a verifier has seen. */
export interface JwtStats {
  /** Tokens whose signature was verified and that were believed. */
  verified: number;
  /** Tokens that were known from before. */
  remembered: number;
  /** Tokens that were not believed. */
  rejected: number;
  /** Times that the key file had changed and could not be used; the keys from before stay. */
  keyFileFailures: number;
}

/** Longer tokens are not looked at. */
const TOKEN_LENGTH_MAX = 8_192;
/** How long a token is believed without looking at its signature again. */
const REMEMBERED_MS_MAX = 300_000;
/** How often a key file is looked at. */
const KEY_FILE_MS = 10_000;
const SITE: OptionSite = { name: "jwtVerifier", code: "SLUICE_OPTION_INVALID" };
const OPTIONS = [
  "jwksFile",
  "jwks",
  "key",
  "secret",
  "algorithms",
  "issuer",
  "audience",
  "clockToleranceSeconds",
  "header",
  "cookie",
  "tokensMax",
  "onRejected",
  "clock",
] as const;

/**
 * A verifier of JSON Web Tokens for the `jwt` option of identity. Throws if its options can't be used:
 * an unreadable key file, algorithms that don't go with the keys.
 */
export function jwtVerifier(options: JwtOptions): JwtVerifier {
  return new JwtVerifier(options);
}

/** Verifies the tokens of requests. Made by {@link jwtVerifier}. */
export class JwtVerifier implements TokenVerifier {
  readonly header: string | undefined;
  readonly #cookie: string | undefined;
  readonly #checks: JWTVerifyOptions;
  readonly #toleranceMs: number;
  readonly #tokensMax: number;
  readonly #onRejected: JwtOptions["onRejected"];
  readonly #clock: Clock;
  readonly #file: string | undefined;
  readonly #stats: JwtStats = { verified: 0, remembered: 0, rejected: 0, keyFileFailures: 0 };
  #keys: Keys;
  #cache: TokenCache;
  #fileStamp: string | undefined;
  #fileSeenMs: number;

  constructor(options: JwtOptions) {
    const given = asOptions(SITE, options, OPTIONS);
    this.#clock = toClock(SITE, given.clock);
    const { keys, file } = toKeys(SITE, given);
    this.#keys = keys;
    this.#file = file;
    this.#fileStamp = file === undefined ? undefined : stampOf(file);
    this.#fileSeenMs = this.#clock.now();
    const seconds = orDefault(given.clockToleranceSeconds, 0);
    const clockTolerance = whole(SITE, "clockToleranceSeconds", seconds, { min: 0, max: 300 });
    this.#toleranceMs = clockTolerance * 1_000;
    const algorithms = toAlgorithms(SITE, given.algorithms, given.secret !== undefined);
    this.#checks = { algorithms: [...algorithms], clockTolerance };
    if (given.issuer !== undefined) this.#checks.issuer = toNames("issuer", given.issuer);
    if (given.audience !== undefined) this.#checks.audience = toNames("audience", given.audience);
    this.header = toHeader(given.header);
    this.#cookie = given.cookie === undefined ? undefined : toName("cookie", given.cookie);
    if (this.header === undefined && this.#cookie === undefined) {
      refuse(SITE, "needs a header or a cookie to find tokens in");
    }
    const tokensMax = orDefault(given.tokensMax, 10_000);
    this.#tokensMax = whole(SITE, "tokensMax", tokensMax, { min: 0, max: 1_000_000 });
    this.#cache = new TokenCache(this.#tokensMax);
    this.#onRejected = toCallback(given.onRejected);
  }

  /** What it has seen so far. */
  get stats(): Readonly<JwtStats> {
    return { ...this.#stats };
  }

  claimsOf(view: RequestView): MaybePromise<Claims | undefined> {
    const cookie = this.#cookie;
    const token = this.header === undefined ? undefined : toToken(view, this.header);
    const claims = token === undefined ? undefined : this.verify(token);
    if (cookie === undefined) return claims;
    return andThen(claims, (found) => {
      const other = found === undefined ? parseCookies(view.headers.cookie)?.[cookie] : undefined;
      return other === undefined ? found : this.verify(other);
    });
  }

  /** The claims of a token, at once if it is remembered; undefined if it can't be believed. Never rejects. */
  verify(token: string): MaybePromise<Claims | undefined> {
    if (token.length > TOKEN_LENGTH_MAX) return this.#reject("too-long");
    this.#followFile();
    const nowMs = this.#clock.wall?.() ?? this.#clock.now();
    const hash = hashSecret(token, undefined);
    // Of the keys in force now: what others verified is forgotten with them.
    const cache = this.#cache;
    const known = cache.get(hash, nowMs);
    if (known !== undefined) {
      this.#stats.remembered++;
      return known;
    }
    const checks = { ...this.#checks, currentDate: new Date(nowMs) };
    return jwtVerify(token, this.#keys, checks).then(
      ({ payload }) => {
        this.#stats.verified++;
        const expiresMs =
          payload.exp === undefined
            ? Number.POSITIVE_INFINITY
            : payload.exp * 1_000 + this.#toleranceMs;
        cache.set(hash, payload, Math.min(nowMs + REMEMBERED_MS_MAX, expiresMs));
        return payload;
      },
      (error) => this.#reject(toRejection(error)),
    );
  }

  #reject(reason: TokenRejection): undefined {
    this.#stats.rejected++;
    try {
      const told = this.#onRejected?.({ reason });
      if (isThenable(told)) Promise.resolve(told).catch(() => {});
    } catch {
      // The request goes on without claims, whoever is told of it.
    }
    return undefined;
  }

  /** Takes over other keys if the file has changed. One that can't be used changes nothing. */
  #followFile(): void {
    const file = this.#file;
    const nowMs = this.#clock.now();
    if (file === undefined || nowMs - this.#fileSeenMs < KEY_FILE_MS) return;
    this.#fileSeenMs = nowMs;
    try {
      const stamp = stampOf(file);
      if (stamp === this.#fileStamp) return;
      this.#keys = readKeyFile(SITE, file);
      this.#fileStamp = stamp;
      this.#cache = new TokenCache(this.#tokensMax);
    } catch {
      this.#stats.keyFileFailures++;
    }
  }
}

/** `Bearer` credentials, or in a field of its own the token alone. */
function toToken({ headers }: RequestView, header: string): string | undefined {
  const text = headers[header];
  if (typeof text !== "string" || text === "") return undefined;
  const credentials = /^bearer +(.+)$/i.exec(text);
  if (credentials !== null) return credentials[1].trim();
  return header === "authorization" ? undefined : text.trim();
}

function toRejection(error: unknown): TokenRejection {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JOSEAlgNotAllowed) return "algorithm";
  if (error instanceof errors.JWTClaimValidationFailed)
    return CLAIM_REJECTIONS[error.claim] ?? "claims";
  if (error instanceof errors.JOSENotSupported) return "unsupported";
  const isOfKeys =
    error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys;
  return isOfKeys ? "key" : "malformed";
}

const CLAIM_REJECTIONS: Readonly<Record<string, TokenRejection>> = {
  nbf: "not-yet-valid",
  iss: "issuer",
  aud: "audience",
};

function toHeader(given: unknown): string | undefined {
  return given === false
    ? undefined
    : toName("header", orDefault(given, "authorization")).toLowerCase();
}

function toName(field: string, given: unknown): string {
  if (typeof given === "string" && given !== "") return given;
  refuse(SITE, `${field} must be a name, got ${show(given)}`);
}

function toNames(field: string, given: unknown): string | string[] {
  if (!Array.isArray(given)) return toName(field, given);
  if (given.length === 0) refuse(SITE, `${field} must name at least one`);
  return given.map((name) => toName(field, name));
}

function toCallback(given: unknown): JwtOptions["onRejected"] {
  if (given === undefined || typeof given === "function") return given as JwtOptions["onRejected"];
  refuse(SITE, `onRejected must be a function, got ${show(given)}`);
}
