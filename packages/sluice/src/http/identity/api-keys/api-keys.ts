/**
 * Resolves API keys to tenants, plans and attributes out of a database of your own.
 *
 * @module
 */

export {
  type CachedKeyResolver,
  type CachedKeyResolverOptions,
  cachedKeyResolver,
} from "./cached-key-resolver.js";
export type { KeyAnswer, KeyResolver, UnknownKeys } from "./key-resolver.js";
export type { ResolvedKey } from "./resolved-key.js";
export { SharedKey } from "./shared-key.js";
