/**
 * Verified tokens: claims that rules may count by. A token that is not verified is never trusted.
 *
 * @module
 */

import { errors } from "jose";
import { wallMsOf } from "../../../base/clock.js";
import { andThen, type MaybePromise, notify } from "../../../base/maybe-promise.js";
import { parseCookies } from "../cookies.js";
import type { HttpRequest } from "../http-request.js";
import type { TokenVerifier } from "../identity-options.js";
import { hashSecret } from "../secrets.js";
import type { Claims } from "../sources.js";
import {
  type JwtOptions,
  type JwtSetup,
  type JwtStats,
  SITE,
  type TokenRejection,
  toJwtSetup,
} from "./jwt-options.js";
import { type Keys, readKeyFile, readKeyUrl, stampOf } from "./keys.js";
import { KeysUnavailable, RemoteKeys } from "./remote-keys.js";
import { TokenCache } from "./token-cache.js";
import { verifyToken } from "./verify-token.js";

export type { BodyBounds, BodyFields } from "../body/body.js";
export type { HttpRequest } from "../http-request.js";
export type { TokenVerifier } from "../identity-options.js";
export type { Claims } from "../sources.js";
export type { JwtAlgorithm } from "./jwt-algorithms.js";
export type { JwtOptions, JwtStats, TokenRejection } from "./jwt-options.js";
export type { JwtKeyOptions } from "./keys.js";

/** Longer tokens are not looked at. */
const TOKEN_LENGTH_MAX = 8_192;
/** How long a verified token is trusted before its signature is checked again. */
const REMEMBERED_MS_MAX = 300_000;
/** How often a key file is looked at. */
const KEY_FILE_MS = 10_000;

/**
 * A verifier of JSON Web Tokens for the `jwt` option of identity. Throws if its options are invalid:
 * an unreadable key file, algorithms that don't fit the keys.
 */
export function jwtVerifier(options: JwtOptions): JwtVerifier {
  return new JwtVerifier(options);
}

/** Verifies the tokens of requests. Made by {@link jwtVerifier}. */
export class JwtVerifier implements TokenVerifier {
  readonly #setup: JwtSetup;
  readonly #stats: JwtStats = {
    verified: 0,
    remembered: 0,
    rejected: 0,
    keyFileFailures: 0,
    keyFetchFailures: 0,
  };
  readonly #remote: RemoteKeys | undefined;
  /** Called when a fetch of `jwksUrl` failed; initially `onKeysFailed` of the options. Exceptions are ignored. */
  onKeysFailed: JwtOptions["onKeysFailed"];
  #keys: Keys;
  #cache: TokenCache;
  // Not known at first: the file may change while it is read, so the first look reads it once more.
  #fileStamp: string | undefined = undefined;
  #fileSeenMs: number;

  constructor(options: JwtOptions) {
    this.#setup = toJwtSetup(options);
    const { source, onKeysFailed } = this.#setup;
    this.onKeysFailed = onKeysFailed;
    this.#remote = source.url === undefined ? undefined : this.#toRemote(source.url);
    this.#keys = source.keys ?? (this.#remote as RemoteKeys).find;
    this.#cache = new TokenCache(this.#setup.tokensMax);
    this.#fileSeenMs = this.#setup.clock.now();
  }

  get header(): string | undefined {
    return this.#setup.header;
  }

  /** What it has seen so far. */
  get stats(): Readonly<JwtStats> {
    return { ...this.#stats };
  }

  /**
   * Fetches the keys of `jwksUrl` now, so that the first token does not wait for them. Resolves also if that fails,
   * which `onKeysFailed` gets, and does nothing if the keys come from elsewhere.
   */
  async fetchKeys(): Promise<void> {
    await this.#remote?.fetch();
  }

  claimsOf(request: HttpRequest): MaybePromise<Claims | undefined> {
    const { header, cookie } = this.#setup;
    const token = header === undefined ? undefined : toToken(request, header);
    const claims = token === undefined ? undefined : this.verify(token);
    if (cookie === undefined) return claims;
    return andThen(claims, (found) => {
      const other =
        found === undefined ? parseCookies(request.headers.cookie)?.[cookie] : undefined;
      return other === undefined ? found : this.verify(other);
    });
  }

  /** The claims of a token, immediately if it is remembered; undefined if it is rejected. Never rejects. */
  verify(token: string): MaybePromise<Claims | undefined> {
    if (token.length > TOKEN_LENGTH_MAX) return this.#reject("too-long");
    this.#followFile();
    this.#remote?.follow();
    const { checks, toleranceMs, clock } = this.#setup;
    const nowMs = wallMsOf(clock);
    const hash = hashSecret(token, undefined);
    // Of the keys in force now: what others verified is forgotten with them.
    const cache = this.#cache;
    const known = cache.get(hash, nowMs);
    if (known !== undefined) {
      this.#stats.remembered++;
      return known;
    }
    const current = { ...checks, currentDate: new Date(nowMs) };
    return verifyToken(token, this.#keys, current).then(
      (payload) => {
        this.#stats.verified++;
        const expiresMs =
          payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1_000 + toleranceMs;
        cache.set(hash, payload, Math.min(nowMs + REMEMBERED_MS_MAX, expiresMs));
        return payload;
      },
      (error) => this.#reject(toRejection(error)),
    );
  }

  #reject(reason: TokenRejection): undefined {
    this.#stats.rejected++;
    notify(() => this.#setup.onRejected?.({ reason }));
    return undefined;
  }

  #toRemote(url: URL): RemoteKeys {
    const { clock, jwksMaxAgeMs: maxAgeMs, jwksStaleMs: staleMs, tokensMax } = this.#setup;
    return new RemoteKeys({
      fetch: () => readKeyUrl(SITE, url),
      clock,
      maxAgeMs,
      staleMs,
      onChanged: () => {
        this.#cache = new TokenCache(tokensMax);
      },
      onFailed: (error) => {
        this.#stats.keyFetchFailures++;
        notify(() => this.onKeysFailed?.(error));
      },
    });
  }

  /** Takes over other keys if the file has changed. One that can't be used changes nothing. */
  #followFile(): void {
    const {
      source: { file },
      clock,
      tokensMax,
    } = this.#setup;
    const nowMs = clock.now();
    if (file === undefined || nowMs - this.#fileSeenMs < KEY_FILE_MS) return;
    this.#fileSeenMs = nowMs;
    try {
      const stamp = stampOf(file);
      if (stamp === this.#fileStamp) return;
      this.#keys = readKeyFile(SITE, file);
      this.#fileStamp = stamp;
      this.#cache = new TokenCache(tokensMax);
    } catch {
      this.#stats.keyFileFailures++;
    }
  }
}

/** `Bearer` credentials, or in a header of its own the token alone. */
function toToken({ headers }: HttpRequest, header: string): string | undefined {
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
  if (error instanceof KeysUnavailable) return "keys-unavailable";
  if (error instanceof errors.JOSENotSupported) return "unsupported";
  return error instanceof errors.JWKSNoMatchingKey ? "key" : "malformed";
}

const CLAIM_REJECTIONS: Readonly<Record<string, TokenRejection>> = {
  nbf: "not-yet-valid",
  iss: "issuer",
  aud: "audience",
};
