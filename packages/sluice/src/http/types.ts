// Types that users write down, whatever the framework. Every adapter exports all of them.

export type { BodyBounds, BodyFields } from "./body.js";
export type { HeaderForm, LegacyReset } from "./headers.js";
export type {
  ApiKeyOptions,
  ClaimSource,
  Claims,
  ClientAddressSource,
  FactFunction,
  FactSource,
  HeaderSource,
  IdentityOptions,
  TokenVerifier,
} from "./identity.js";
export type { HttpOptions, RateLimitOptions } from "./options.js";
export type { RateLimitInfo } from "./passage.js";
export type { RefusalBody, RefusalContext, WrittenBody } from "./refusal.js";
export type { RequestView } from "./request-view.js";
export type { SimpleOptions, StatusClass, StatusList } from "./simple-policy.js";
