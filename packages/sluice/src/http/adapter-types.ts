// Types that users write down, whatever the framework. Every adapter exports all of them.

export type {
  ChallengeEvent,
  ChallengeOptions,
  ChallengeProvider,
  ChallengeWidget,
  PassRefusal,
} from "./challenge/challenge-options.js";
export type { RateLimitInfo } from "./handler/handled-request.js";
export type { HttpOptions, RateLimitOptions } from "./handler/http-options.js";
export type {
  SettleByJson,
  SimpleOptions,
  StatusClass,
  StatusList,
} from "./handler/limits-in-code.js";
export type { BodyBounds, BodyFields } from "./identity/body/body.js";
export type { HttpRequest } from "./identity/http-request.js";
export type {
  ApiKeyOptions,
  ClaimSource,
  Claims,
  ClientAddressSource,
  FactFunction,
  FactSource,
  HeaderSource,
  IdentityOptions,
  KeyAnswer,
  KeyResolver,
  ResolvedKey,
  TokenVerifier,
  UnknownKeys,
} from "./identity/identity.js";
export type { HeaderForm, LegacyReset } from "./response/rate-limit-headers.js";
export type { RefusalBody, RefusalContext, WrittenBody } from "./response/refusal.js";
