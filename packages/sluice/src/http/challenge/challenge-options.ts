// The options of challenges: what signs them, how hard they are, and who else may verify them.

import type { MaybePromise } from "../../base/maybe-promise.js";
import {
  anyFunction,
  nonEmptyString,
  type OptionSite,
  readOptions,
  refuse,
  secretString,
} from "../../base/shapes/code-options.js";
import {
  as,
  choice,
  listOf,
  object,
  oneOrMany,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import type { Facts } from "../../rules/facts.js";

/** How rules with `onExceed: challenge` challenge their callers. */
export interface ChallengeOptions {
  /**
   * Signs challenges: at least 32 characters, the same on all servers that share limits. Of several the first signs and
   * all are accepted, so that a secret can be replaced without refusing anyone.
   */
  secrets: string | readonly string[];
  /** How many zero bits a solution needs, 1 to 28: each doubles the work. Default 18, about a second in a browser. */
  difficulty?: number;
  /** How long a challenge and its pass are good for, in milliseconds: 10,000 to 3,600,000; default 120,000. */
  lifetimeMs?: number;
  /** Asks a provider such as Turnstile or hCaptcha, instead of for proof of work. Default: none. */
  provider?: ChallengeProvider;
  /** Called with each challenge that was issued and each pass that was presented. Exceptions that it throws are dropped. */
  onChallenge?: (event: ChallengeEvent) => unknown;
}

/** A service that distinguishes people from programs. */
export interface ChallengeProvider {
  /** Whether a token that the provider's widget gave to the client is good. The facts are those of the request. */
  verify: (token: string, facts: Facts) => MaybePromise<boolean>;
  /** How long `verify` may take, in milliseconds: 1 to 60,000; default 3,000. */
  timeoutMs?: number;
  /** What happens if `verify` throws or takes too long: the pass is refused (default) or accepted. */
  onFailure?: "refuse" | "accept";
  /** The widget that the page shows. */
  widget: ChallengeWidget;
}

/** A widget of a provider, as the page loads it. */
export interface ChallengeWidget {
  /** The script, over https: `https://challenges.cloudflare.com/turnstile/v0/api.js`. */
  scriptUrl: string;
  /** The class of the element that the script looks for: `cf-turnstile`, `h-captcha`. */
  className: string;
  /** Who you are to the provider. It is public. */
  siteKey: string;
  /** Where the widget loads from and connects to besides, for the page's security policy. Default: the script's origin. */
  origins?: readonly string[];
}

/** Something that happened to a challenge. */
export interface ChallengeEvent {
  /** `issued` with a refusal; `passed`, which lifted the limit; `refused`: a pass was presented and not accepted. */
  readonly kind: "issued" | "passed" | "refused";
  /** The id of the rule. */
  readonly rule: string;
  /** Why a pass was refused; undefined otherwise. */
  readonly reason: PassRefusal | undefined;
}

/**
 * Why a pass is refused: it is not one that this service has issued; too old; not solved; for another key or rule; used
 * before; the provider says no; the caller sends too many; or the store or the provider did not answer.
 */
export type PassRefusal =
  | "forged"
  | "expired"
  | "unsolved"
  | "other-key"
  | "replayed"
  | "rejected"
  | "too-many"
  | "unavailable";

/** Options, validated and filled in. */
export interface ChallengeSetup {
  readonly secrets: readonly string[];
  readonly difficulty: number;
  readonly lifetimeMs: number;
  readonly provider: Required<ChallengeProvider> | undefined;
  readonly onChallenge: ((event: ChallengeEvent) => unknown) | undefined;
}

/** A minute of a fast server would be a day of a phone. */
export const DIFFICULTY = { min: 1, max: 28 };
export const LIFETIME_MS = { min: 10_000, max: 3_600_000 };
export const CHALLENGE_DEFAULTS = { difficulty: 18, lifetimeMs: 120_000 } as const;
/** An HMAC of SHA-256 is as strong as a secret of this length. */
const SECRET_LENGTH_MIN = 32;
const SECRETS_MAX = 8;
const ORIGINS_MAX = 16;

const secret: Shape<string> = as(secretString, (value, spot) =>
  value.length >= SECRET_LENGTH_MIN
    ? value
    : spot.say(`must have at least ${SECRET_LENGTH_MIN} characters, got ${value.length}`),
);

/** An address that can stand in a page and in its security policy: nothing in it has to be escaped. */
const httpsUrl: Shape<string> = as(nonEmptyString, (value, spot) =>
  /^https:\/\/[\w.-]+(:\d+)?[\w./~%?&=-]*$/.test(value)
    ? value
    : spot.say(`must be an https:// URL without quotes and spaces, got ${JSON.stringify(value)}`),
);

const plainName: Shape<string> = as(nonEmptyString, (value, spot) =>
  /^[\w.-]{1,256}$/.test(value) ? value : spot.say("must be letters, digits, _, - or ."),
);

const widget = object({
  scriptUrl: required(httpsUrl),
  className: required(plainName),
  siteKey: required(plainName),
  origins: optional(listOf(httpsUrl, { countMin: 0, countMax: ORIGINS_MAX })),
} satisfies Record<keyof ChallengeWidget, unknown>);

const provider = object({
  verify: required(anyFunction),
  timeoutMs: withDefault(wholeNumber({ min: 1, max: 60_000 }), 3_000),
  onFailure: withDefault(choice(["refuse", "accept"]), "refuse"),
  widget: required(widget),
} satisfies Record<keyof ChallengeProvider, unknown>);

const OPTIONS = object({
  secrets: required(oneOrMany(secret, { countMax: SECRETS_MAX })),
  difficulty: withDefault(wholeNumber(DIFFICULTY), CHALLENGE_DEFAULTS.difficulty),
  lifetimeMs: withDefault(wholeNumber(LIFETIME_MS), CHALLENGE_DEFAULTS.lifetimeMs),
  provider: optional(provider),
  onChallenge: optional(anyFunction),
} satisfies Record<keyof ChallengeOptions, unknown>);

const SITE: OptionSite = { name: "challenge", code: "SLUICE_OPTION_INVALID" };

/** Validates options and fills in defaults. */
export function toChallengeSetup(options: unknown): ChallengeSetup {
  const given = readOptions(SITE, OPTIONS, options);
  if (new Set(given.secrets).size < given.secrets.length) refuse(SITE, "secrets has one twice");
  return given as ChallengeSetup;
}
