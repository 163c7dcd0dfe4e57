// The options of identity: which proxies are trusted, and where the facts about a caller come from.

import type { MaybePromise } from "../../base/maybe-promise.js";
import type { KeyResolver, UnknownKeys } from "./api-keys/key-resolver.js";
import type { ApiKeyPlaces } from "./api-keys/sent-key.js";
import type { BodyBounds } from "./body/body.js";
import type { ClientAddresses, ClientAddressSource } from "./client-address.js";
import type { HttpRequest } from "./http-request.js";
import type { Claims, FactFunction, FactSource } from "./sources.js";

/** How callers are identified. `Raw` is the request of the framework. */
export interface IdentityOptions<Raw = unknown> {
  /**
   * Proxies whose forwarding headers are trusted: ranges such as `10.0.0.0/8`, single
   * addresses, `loopback`, `private`, and `unaddressed` for peers without an address (a Unix
   * socket). Default none: the peer is the client, and no header is read.
   */
  trustedProxies?: readonly string[];
  /** Where trusted proxies write the client's address; default `"x-forwarded-for"`. */
  clientAddress?: ClientAddressSource<Raw>;
  /** Whether `X-Forwarded-Host` of a trusted proxy is the host that rules match; default false. */
  forwardedHost?: boolean;
  /**
   * The header in which trusted proxies say what software the client is, such as a JA4 hash; rules count and match by it
   * as `fingerprint`. From other peers it is not read. Default: none.
   */
  fingerprintHeader?: string;
  /** Who the user is. Default: not known. */
  user?: FactSource<Raw>;
  /** Which tenant it belongs to. Default: not known. */
  tenant?: FactSource<Raw>;
  /** Which of a rule's tiers holds. Default: none. */
  tier?: FactSource<Raw>;
  /** Anything else that rules match or count by, by name. */
  attributes?: Readonly<Record<string, FactSource<Raw>>>;
  /** Where an API key is looked for. Default: nowhere. */
  apiKey?: ApiKeyOptions;
  /**
   * Hashes API keys, at least 16 characters and the same on all servers that share limits. Default:
   * a plain hash, by which keys that can be guessed can be found out.
   */
  keySecret?: string;
  /**
   * Resolves API keys to tenant, tier, plan and attributes: `cachedKeyResolver(…)` of `sluice/api-keys`, or one of your own. Keys are looked
   * for as `apiKey` says, by default in `x-api-key`. Default: none; a key is then counted by its hash.
   */
  keyResolver?: KeyResolver;
  /**
   * What happens to a request whose API key the resolver does not know: `"refuse"` (default, 401), or `"anonymous"`: it
   * continues as if it had no key. Requests without a key are not affected.
   */
  unknownKeys?: UnknownKeys;
  /** Verifies tokens for `claim` sources: `jwtVerifier(…)` of `sluice/jwt`. */
  jwt?: TokenVerifier;
  /** The largest body that is read for a rule that counts by one of its fields, or takes its cost from one; default 16,384. */
  bodyBytesMax?: number;
  /** How long it may take to arrive, in milliseconds; default 5,000. */
  bodyMsMax?: number;
  /**
   * The header by which the application lets a POST be another method: its name, with `methods` PUT,
   * PATCH and DELETE, or both. Name just those that the application honours. Default: none.
   */
  methodOverride?: string | { header: string; methods: readonly string[] };
}

/** Where an API key is looked for: in the places that are named, by default in `x-api-key`. */
export interface ApiKeyOptions {
  /** The name of a header; default `"x-api-key"` if no other place is named. */
  header?: string;
  /** The name of a parameter in the query. */
  query?: string;
  /** The scheme of the `Authorization` header, such as `"Bearer"`. */
  scheme?: string;
}

/** Verifies the token of a request. */
export interface TokenVerifier {
  /** The name of the header that it reads, in lower case. */
  readonly header: string | undefined;
  /** The claims of the request's token; undefined if it has no valid token. */
  claimsOf(request: HttpRequest): MaybePromise<Claims | undefined>;
}

/** Where a fact goes to. */
export type NamedSource =
  | { readonly isAttribute: true; readonly name: string }
  | { readonly isAttribute: false; readonly name: "user" | "tenant" | "tier" };

/** Options, validated and filled in. */
export interface IdentitySetup {
  readonly clients: ClientAddresses;
  readonly isHostForwarded: boolean;
  readonly fingerprintHeader: string | undefined;
  readonly headerSources: readonly (NamedSource & { header: string; isForAnyone: boolean })[];
  readonly claimSources: readonly (NamedSource & { path: readonly string[] })[];
  readonly functions: readonly (NamedSource & { ask: FactFunction })[];
  readonly apiKey: ApiKeyPlaces | undefined;
  readonly keyResolver: KeyResolver | undefined;
  readonly unknownKeys: UnknownKeys;
  readonly jwt: TokenVerifier | undefined;
  readonly body: BodyBounds;
  readonly methodOverride: { header: string; methods: readonly string[] } | undefined;
}
