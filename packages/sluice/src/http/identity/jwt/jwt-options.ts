// The options of a verifier of tokens, validated once and filled in.

import type { JWTVerifyOptions } from "jose";
import { type Clock, toClock } from "../../../base/clock.js";
import { show } from "../../../base/errors.js";
import {
  asOptions,
  functionOf,
  namesOf,
  type OptionSite,
  orDefault,
  refuse,
  whole,
} from "../../../base/shapes/code-options.js";
import {
  type JwtAlgorithm,
  type JwtKeyOptions,
  type KeySource,
  toAlgorithms,
  toKeys,
} from "./keys.js";
import { FETCH_INTERVAL_MS } from "./remote-keys.js";

/** Options of {@link jwtVerifier}: where the keys are, and what a token must contain. */
export interface JwtOptions extends JwtKeyOptions {
  /** How old keys of `jwksUrl` become before they are fetched again, 10,000 to 86,400,000; default 600,000. */
  jwksMaxAgeMs?: number;
  /**
   * How long keys of `jwksUrl` keep working after the last fetch that succeeded, at least `jwksMaxAgeMs` and at
   * most 2,592,000,000; default 86,400,000, a day. After that every token is rejected until a fetch succeeds.
   */
  jwksStaleMs?: number;
  /** The algorithms that may be used, all for public keys or all for a secret. */
  algorithms: readonly JwtAlgorithm[];
  /** The required issuer, or a list of which one is required. Default: not checked. */
  issuer?: string | readonly string[];
  /** The required audience, or a list of which one is required. Default: not checked. */
  audience?: string | readonly string[];
  /** By how much clocks may differ, in seconds from 0 to 300; default 0. */
  clockToleranceSeconds?: number;
  /**
   * The header that has it, as `Bearer` credentials or alone; default `"authorization"`. False: none.
   */
  header?: string | false;
  /** The cookie with the token, used if the header has no valid one. Default: none. */
  cookie?: string;
  /** How many verified tokens are remembered, 0 to 1,000,000; default 10,000. */
  tokensMax?: number;
  /** Called with the reason why a token was rejected, never with the token. Exceptions that it throws are ignored. */
  onRejected?: (rejection: { readonly reason: TokenRejection }) => unknown;
  /** Called when a fetch of `jwksUrl` failed. Exceptions that it throws are ignored. */
  onKeysFailed?: (error: Error) => unknown;
  /** Default: the system's. */
  clock?: Clock;
}

/** Why a token was rejected. */
export type TokenRejection =
  | "too-long"
  | "malformed"
  | "unsupported"
  | "algorithm"
  | "key"
  | "keys-unavailable"
  | "signature"
  | "expired"
  | "not-yet-valid"
  | "issuer"
  | "audience"
  | "claims";

/** What a verifier has seen. */
export interface JwtStats {
  /** Tokens that were verified and accepted. */
  verified: number;
  /** Tokens that were known from before. */
  remembered: number;
  /** Tokens that were rejected. */
  rejected: number;
  /** Times that the key file had changed and could not be used; the keys from before stay. */
  keyFileFailures: number;
  /** Fetches of `jwksUrl` that failed; the keys from before stay. */
  keyFetchFailures: number;
}

/** Options, validated and filled in. */
export interface JwtSetup {
  readonly source: KeySource;
  readonly jwksMaxAgeMs: number;
  readonly jwksStaleMs: number;
  /** What jose has to check in a token. */
  readonly checks: JWTVerifyOptions;
  readonly toleranceMs: number;
  readonly header: string | undefined;
  readonly cookie: string | undefined;
  readonly tokensMax: number;
  readonly onRejected: JwtOptions["onRejected"];
  readonly onKeysFailed: JwtOptions["onKeysFailed"];
  readonly clock: Clock;
}

/** Where errors of these options are seen. */
export const SITE: OptionSite = { name: "jwtVerifier", code: "SLUICE_OPTION_INVALID" };
const OPTIONS = namesOf<JwtOptions>({
  jwksFile: true,
  jwksUrl: true,
  jwksMaxAgeMs: true,
  jwksStaleMs: true,
  jwks: true,
  key: true,
  secret: true,
  algorithms: true,
  issuer: true,
  audience: true,
  clockToleranceSeconds: true,
  header: true,
  cookie: true,
  tokensMax: true,
  onRejected: true,
  onKeysFailed: true,
  clock: true,
});

/** Validates options and fills in defaults. */
export function toJwtSetup(options: JwtOptions): JwtSetup {
  const given = asOptions(SITE, options, OPTIONS);
  const seconds = orDefault(given.clockToleranceSeconds, 0);
  const clockTolerance = whole(SITE, "clockToleranceSeconds", seconds, { min: 0, max: 300 });
  const tokensMax = orDefault(given.tokensMax, 10_000);
  const setup = {
    ...toAges(given),
    source: toKeys(SITE, given),
    checks: toChecks(given, clockTolerance),
    toleranceMs: clockTolerance * 1_000,
    header: toHeader(given.header),
    cookie: given.cookie === undefined ? undefined : toName("cookie", given.cookie),
    tokensMax: whole(SITE, "tokensMax", tokensMax, { min: 0, max: 1_000_000 }),
    onRejected: functionOf(SITE, "onRejected", options.onRejected),
    onKeysFailed: functionOf(SITE, "onKeysFailed", options.onKeysFailed),
    clock: toClock(SITE, given.clock),
  };
  if (setup.header === undefined && setup.cookie === undefined) {
    refuse(SITE, "needs a header or a cookie to find tokens in");
  }
  return setup;
}

type Given = Partial<Record<keyof JwtOptions, unknown>>;

const DAY_MS = 86_400_000;

function toAges(given: Given): Pick<JwtSetup, "jwksMaxAgeMs" | "jwksStaleMs"> {
  for (const field of ["jwksMaxAgeMs", "jwksStaleMs"] as const) {
    if (given[field] !== undefined && given.jwksUrl === undefined) {
      refuse(SITE, `${field} goes with jwksUrl`);
    }
  }
  const maxAge = orDefault(given.jwksMaxAgeMs, 600_000);
  const jwksMaxAgeMs = whole(SITE, "jwksMaxAgeMs", maxAge, { min: FETCH_INTERVAL_MS, max: DAY_MS });
  const stale = orDefault(given.jwksStaleMs, DAY_MS);
  const bounds = { min: jwksMaxAgeMs, max: 30 * DAY_MS };
  return { jwksMaxAgeMs, jwksStaleMs: whole(SITE, "jwksStaleMs", stale, bounds) };
}

function toChecks(given: Given, clockTolerance: number): JWTVerifyOptions {
  const algorithms = toAlgorithms(SITE, given.algorithms, given.secret !== undefined);
  const checks: JWTVerifyOptions = { algorithms: [...algorithms], clockTolerance };
  if (given.issuer !== undefined) checks.issuer = toNames("issuer", given.issuer);
  if (given.audience !== undefined) checks.audience = toNames("audience", given.audience);
  return checks;
}

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
