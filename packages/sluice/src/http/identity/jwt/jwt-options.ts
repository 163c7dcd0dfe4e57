// The options of a verifier of tokens, validated once and filled in.

import type { JWTVerifyOptions } from "jose";
import { type Clock, toClock } from "../../../base/clock.js";
import {
  anyFunction,
  nonEmptyString,
  type OptionSite,
  readOption,
  readOptions,
  refuse,
} from "../../../base/shapes/code-options.js";
import {
  anything,
  as,
  constant,
  either,
  object,
  oneOrMany,
  optional,
  type ReadAs,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { JwtAlgorithm } from "./jwt-algorithms.js";
import { type JwtKeyOptions, type KeySource, toAlgorithms, toKeys } from "./keys.js";
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

const DAY_MS = 86_400_000;

const names = oneOrMany(nonEmptyString, { countMax: 1_000 });
const header = either<string | false>("a non-empty string, or false", [
  { fits: (value) => value === false, shape: constant(false) },
  { fits: () => true, shape: as(nonEmptyString, (given) => given.toLowerCase()) },
]);

const OPTIONS = object({
  // How keys, algorithms and the age of keys are read depends on the other options.
  jwksFile: optional(anything()),
  jwksUrl: optional(anything()),
  jwksMaxAgeMs: optional(wholeNumber({ min: FETCH_INTERVAL_MS, max: DAY_MS })),
  jwksStaleMs: optional(anything()),
  jwks: optional(anything()),
  key: optional(anything()),
  secret: optional(anything()),
  algorithms: optional(anything()),
  issuer: optional(names),
  audience: optional(names),
  clockToleranceSeconds: withDefault(wholeNumber({ min: 0, max: 300 }), 0),
  header: withDefault(header, "authorization"),
  cookie: optional(nonEmptyString),
  tokensMax: withDefault(wholeNumber({ min: 0, max: 1_000_000 }), 10_000),
  onRejected: optional(anyFunction),
  onKeysFailed: optional(anyFunction),
  clock: optional(anything()),
} satisfies Record<keyof JwtOptions, unknown>);

type Given = ReadAs<typeof OPTIONS>;

/** Validates options and fills in defaults. */
export function toJwtSetup(options: JwtOptions): JwtSetup {
  const given = readOptions(SITE, OPTIONS, options);
  const { cookie, tokensMax, onRejected, onKeysFailed } = given;
  if (given.header === false && cookie === undefined) {
    refuse(SITE, "needs a header or a cookie to find tokens in");
  }
  return {
    ...toAges(given),
    source: toKeys(SITE, given),
    checks: toChecks(given),
    toleranceMs: given.clockToleranceSeconds * 1_000,
    header: given.header === false ? undefined : given.header,
    cookie,
    tokensMax,
    onRejected,
    onKeysFailed,
    clock: toClock(SITE, given.clock),
  };
}

function toAges(given: Given): Pick<JwtSetup, "jwksMaxAgeMs" | "jwksStaleMs"> {
  for (const field of ["jwksMaxAgeMs", "jwksStaleMs"] as const) {
    if (given[field] !== undefined && given.jwksUrl === undefined) {
      refuse(SITE, `${field} needs jwksUrl`);
    }
  }
  const { jwksMaxAgeMs = 600_000, jwksStaleMs = DAY_MS } = given;
  const bounds = { min: jwksMaxAgeMs, max: 30 * DAY_MS };
  return {
    jwksMaxAgeMs,
    jwksStaleMs: readOption(SITE, "jwksStaleMs", wholeNumber(bounds), jwksStaleMs),
  };
}

function toChecks(given: Given): JWTVerifyOptions {
  const { issuer, audience, clockToleranceSeconds: clockTolerance } = given;
  const algorithms = toAlgorithms(SITE, given.algorithms, given.secret !== undefined);
  return {
    algorithms: [...algorithms],
    clockTolerance,
    ...(issuer === undefined ? {} : { issuer: [...issuer] }),
    ...(audience === undefined ? {} : { audience: [...audience] }),
  };
}
