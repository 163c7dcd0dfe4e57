// The shapes of the `identity` options: what each may be, and what it is read as.

import { show } from "../../base/errors.js";
import {
  nonEmptyString,
  type OptionSite,
  orFunction,
  refuse,
  secretString,
} from "../../base/shapes/code-options.js";
import {
  anyName,
  as,
  choice,
  either,
  flag,
  isRecord,
  listOf,
  mapOf,
  object,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import { toCidrList } from "../../rules/identity-keys/cidr.js";
import type { KeyResolver } from "./api-keys/key-resolver.js";
import type { ClientAddressSource, ProxyTrust } from "./client-address.js";
import type { ApiKeyOptions, IdentityOptions, TokenVerifier } from "./identity-options.js";
import type { FactFunction } from "./sources.js";

/** Where errors of these options are seen. */
export const SITE: OptionSite = { name: "identity", code: "SLUICE_OPTION_INVALID" };

/** A body is held whole while its rule is decided. */
const BODY_BYTES = { min: 1, max: 1_048_576 };
const BODY_MS = { min: 1, max: 60_000 };
const ATTRIBUTES = { countMin: 0, countMax: 1_000, what: "an object of sources by name" };
const METHODS_MAX = 100;
const UNADDRESSED = "unaddressed";

/** A token of HTTP, read in lower case: the name of a header, a scheme or a method. */
const token: Shape<string> = {
  what: "a name such as x-user-id",
  schema: { type: "string" },
  read: (value, spot) => {
    const isToken = typeof value === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(value);
    return isToken ? value.toLowerCase() : spot.refuse(token.what, value);
  },
};

const proxies: Shape<ProxyTrust> = {
  what: "a list",
  schema: {},
  read: (value, spot) => {
    if (!Array.isArray(value)) return spot.refuse(proxies.what, value);
    const ranges = value.filter((range) => range !== UNADDRESSED);
    const all = ranges.find((range) => typeof range === "string" && range.endsWith("/0"));
    const site = { ...SITE, name: `${SITE.name}: trustedProxies` };
    if (all !== undefined) refuse(site, `${show(all)} lets every client choose its own address`);
    return {
      proxies: ranges.length === 0 ? undefined : toCidrList(ranges, site),
      isUnaddressedTrusted: ranges.length < value.length,
      isConfigured: true,
    };
  },
};

const clientAddress: Shape<ClientAddressSource> = orFunction(
  either<ClientAddressSource>("x-forwarded-for, forwarded, or a header", [
    { fits: isRecord, shape: object({ header: required(token) }) },
    { fits: () => true, shape: choice(["x-forwarded-for", "forwarded"]) },
  ]),
);

/** A source as it is read: a function, the path of a claim, or a header. */
export type ReadSource =
  | { readonly ask: FactFunction }
  | { readonly path: readonly string[] }
  | { readonly header: string; readonly isForAnyone: boolean };

const claim: Shape<readonly string[]> = {
  what: "a name or a list of names",
  schema: {},
  read: (value, spot) => {
    const path = typeof value === "string" ? value.split(".") : value;
    const isPath =
      Array.isArray(path) &&
      path.length > 0 &&
      path.every((name) => typeof name === "string" && name !== "");
    return isPath ? path : spot.refuse(claim.what, value);
  },
};

const headerOrClaim = object(
  {
    header: optional(token),
    trust: withDefault(choice(["proxies", "anyone"]), "proxies"),
    claim: optional(claim),
  },
  { what: "a function, or an object with a header or a claim" },
);

const source: Shape<ReadSource> = {
  what: headerOrClaim.what,
  schema: {},
  read: (value, spot) => {
    if (typeof value === "function") return { ask: value as FactFunction };
    const given = headerOrClaim.read(value, spot);
    if (given === undefined) return undefined;
    const { header, claim: path, trust } = given;
    if (header !== undefined && path === undefined)
      return { header, isForAnyone: trust === "anyone" };
    if (path !== undefined && header === undefined) return { path };
    return spot.say(`needs a header, a claim or a function, got ${show(value)}`);
  },
};

const apiKey = object({
  header: optional(token),
  query: optional(nonEmptyString),
  scheme: optional(token),
} satisfies Record<keyof ApiKeyOptions, unknown>);

const keyResolver: Shape<KeyResolver> = {
  what: "an object with a function resolve(key)",
  schema: {},
  read: (value, spot) =>
    typeof (value as Partial<KeyResolver> | null)?.resolve === "function"
      ? (value as KeyResolver)
      : spot.say(`must have a function resolve(key), got ${show(value)}`),
};

const verifier: Shape<TokenVerifier> = {
  what: "made by jwtVerifier of sluice/jwt",
  schema: {},
  read: (value, spot) =>
    typeof (value as Partial<TokenVerifier> | null)?.claimsOf === "function"
      ? (value as TokenVerifier)
      : // Never shown: it may be a secret.
        spot.say(`must be ${verifier.what}`),
};

type MethodOverride = { readonly header: string; readonly methods: readonly string[] };

const method: Shape<string> = {
  ...token,
  read: (value, spot) => token.read(value, spot)?.toUpperCase(),
};

const methodOverride = either<MethodOverride>("the name of a header, or an object", [
  {
    fits: isRecord,
    shape: object({
      header: required(token),
      methods: required(listOf(method, { countMax: METHODS_MAX })),
    }),
  },
  {
    fits: () => true,
    shape: as(token, (header) => ({ header, methods: ["PUT", "PATCH", "DELETE"] })),
  },
]);

/** All `identity` options. */
export const IDENTITY_OPTIONS = object({
  trustedProxies: optional(proxies),
  clientAddress: withDefault(clientAddress, "x-forwarded-for"),
  forwardedHost: withDefault(flag, false),
  fingerprintHeader: optional(token),
  user: optional(source),
  tenant: optional(source),
  tier: optional(source),
  attributes: withDefault(mapOf(anyName, source, ATTRIBUTES), {}),
  apiKey: optional(apiKey),
  keySecret: optional(secretString),
  keyResolver: optional(keyResolver),
  unknownKeys: optional(choice(["refuse", "anonymous"])),
  jwt: optional(verifier),
  bodyBytesMax: withDefault(wholeNumber(BODY_BYTES), 16_384),
  bodyMsMax: withDefault(wholeNumber(BODY_MS), 5_000),
  methodOverride: optional(methodOverride),
} satisfies Record<keyof IdentityOptions, unknown>);
