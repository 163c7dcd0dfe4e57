// Validates the `identity` options and fills in their defaults, once, when a middleware or a service is created.

import { type Clock, toClock } from "../../base/clock.js";
import { show } from "../../base/errors.js";
import {
  asOptions,
  namesOf,
  type OptionSite,
  oneOf,
  orDefault,
  refuse,
  secretOf,
  whole,
} from "../../base/shapes/code-options.js";
import { toCidrList } from "../../rules/identity-keys/cidr.js";
import type { KeyResolver, UnknownKeys } from "./api-keys/key-resolver.js";
import type { ApiKeyPlaces } from "./api-keys/sent-key.js";
import { ClientAddresses, type ClientAddressSource, type ProxyTrust } from "./client-address.js";
import type {
  IdentityOptions,
  IdentitySetup,
  NamedSource,
  TokenVerifier,
} from "./identity-options.js";
import type { FactFunction } from "./sources.js";

const SITE: OptionSite = { name: "identity", code: "SLUICE_OPTION_INVALID" };
const OPTIONS = namesOf<IdentityOptions>({
  trustedProxies: true,
  clientAddress: true,
  forwardedHost: true,
  user: true,
  tenant: true,
  tier: true,
  attributes: true,
  apiKey: true,
  keySecret: true,
  keyResolver: true,
  unknownKeys: true,
  jwt: true,
  bodyBytesMax: true,
  bodyMsMax: true,
  methodOverride: true,
});
/** A body is held whole while its rule is decided. */
const BODY_BYTES = { min: 1, max: 1_048_576 };
const BODY_MS = { min: 1, max: 60_000 };
const UNADDRESSED = "unaddressed";

/** Validates options and fills in defaults. */
export function toIdentitySetup<Raw>(
  options: IdentityOptions<Raw> | undefined,
  clock: Clock | undefined,
): IdentitySetup {
  const given = asOptions(SITE, options ?? {}, OPTIONS);
  const sources = toSources(given);
  const jwt = toVerifier(given.jwt, sources.claimSources.length > 0);
  const keySecret =
    given.keySecret === undefined ? undefined : secretOf(SITE, "keySecret", given.keySecret);
  return {
    clients: new ClientAddresses(
      toPeers(given.trustedProxies),
      toAddressSource(given.clientAddress),
    ),
    isHostForwarded: toBoolean("forwardedHost", orDefault(given.forwardedHost, false)),
    ...sources,
    jwt,
    ...toKeys(given, keySecret, jwt),
    body: {
      bytesMax: whole(SITE, "bodyBytesMax", orDefault(given.bodyBytesMax, 16_384), BODY_BYTES),
      arrivalMsMax: whole(SITE, "bodyMsMax", orDefault(given.bodyMsMax, 5_000), BODY_MS),
      clock: toClock(SITE, clock),
    },
    methodOverride: toMethodOverride(given.methodOverride),
  };
}

function toPeers(given: unknown): ProxyTrust {
  if (given === undefined)
    return { proxies: undefined, isUnaddressedTrusted: false, isConfigured: false };
  if (!Array.isArray(given)) refuse(SITE, `trustedProxies must be a list, got ${show(given)}`);
  const ranges = given.filter((range) => range !== UNADDRESSED);
  const allAddresses = ranges.find((range) => typeof range === "string" && range.endsWith("/0"));
  if (allAddresses !== undefined) {
    refuse(SITE, `trustedProxies: ${show(allAddresses)} lets every client choose its own address`);
  }
  const site = { ...SITE, name: "identity: trustedProxies" };
  return {
    proxies: ranges.length === 0 ? undefined : toCidrList(ranges, site),
    isUnaddressedTrusted: ranges.length < given.length,
    isConfigured: true,
  };
}

function toAddressSource(given: unknown): ClientAddressSource {
  if (typeof given === "function") return given as ClientAddressSource;
  if (typeof given === "object" && given !== null) {
    const site = { ...SITE, name: "identity: clientAddress" };
    return { header: toName("clientAddress.header", asOptions(site, given, ["header"]).header) };
  }
  const choices = ["x-forwarded-for", "forwarded"] as const;
  return oneOf(SITE, "clientAddress", orDefault(given, "x-forwarded-for"), choices);
}

type Sources = Pick<IdentitySetup, "headerSources" | "claimSources" | "functions">;

function toSources(given: Partial<Record<keyof IdentityOptions, unknown>>): Sources {
  const site = { ...SITE, name: "identity: attributes" };
  const attributes = asOptions(
    site,
    orDefault(given.attributes, {}),
    Object.keys(given.attributes ?? {}),
  );
  const sources = { headerSources: [], claimSources: [], functions: [] } as {
    [K in keyof Sources]: Sources[K][number][];
  };
  for (const name of ["user", "tenant", "tier"] as const) {
    if (given[name] !== undefined) addSource(sources, { isAttribute: false, name }, given[name]);
  }
  for (const [name, source] of Object.entries(attributes)) {
    addSource(sources, { isAttribute: true, name }, source);
  }
  return sources;
}

function addSource(
  sources: { [K in keyof Sources]: Sources[K][number][] },
  to: NamedSource,
  source: unknown,
): void {
  const field = to.isAttribute ? `attributes.${to.name}` : to.name;
  if (typeof source === "function") {
    sources.functions.push({ ...to, ask: source as FactFunction });
    return;
  }
  const site = { ...SITE, name: `identity: ${field}` };
  const { header, trust, claim } = asOptions(site, source, ["header", "trust", "claim"]);
  if ((header === undefined) === (claim === undefined)) {
    refuse(site, `needs a header, a claim or a function, got ${show(source)}`);
  }
  if (claim !== undefined) {
    sources.claimSources.push({ ...to, path: toClaimPath(site, claim) });
    return;
  }
  const trusted = oneOf(site, "trust", orDefault(trust, "proxies"), ["proxies", "anyone"] as const);
  const name = toName(`${field}.header`, header);
  sources.headerSources.push({ ...to, header: name, isForAnyone: trusted === "anyone" });
}

function toClaimPath(site: OptionSite, claim: unknown): readonly string[] {
  const path = typeof claim === "string" ? claim.split(".") : claim;
  const isPath =
    Array.isArray(path) &&
    path.length > 0 &&
    path.every((name) => typeof name === "string" && name);
  if (!isPath) refuse(site, `claim must be a name or a list of names, got ${show(claim)}`);
  return path;
}

function toVerifier(given: unknown, isNeeded: boolean): TokenVerifier | undefined {
  if (given === undefined) {
    if (isNeeded) refuse(SITE, "a claim needs jwt, a verifier made by jwtVerifier of sluice/jwt");
    return undefined;
  }
  if (typeof (given as Partial<TokenVerifier> | null)?.claimsOf === "function") {
    return given as TokenVerifier;
  }
  refuse(SITE, "jwt must be made by jwtVerifier of sluice/jwt");
}

/** A resolver without places looks at the usual one. */
function toKeys(
  given: Partial<Record<keyof IdentityOptions, unknown>>,
  keySecret: string | undefined,
  jwt: TokenVerifier | undefined,
): Pick<IdentitySetup, "apiKey" | "keyResolver" | "unknownKeys"> {
  const { apiKey, keyResolver, unknownKeys } = given;
  const isResolver = typeof (keyResolver as Partial<KeyResolver> | null)?.resolve === "function";
  if (keyResolver === undefined) {
    if (unknownKeys !== undefined) refuse(SITE, "unknownKeys goes with keyResolver");
    return {
      apiKey: toApiKey(apiKey, keySecret, jwt),
      keyResolver: undefined,
      unknownKeys: "refuse",
    };
  }
  if (!isResolver) {
    refuse(SITE, `keyResolver must have a function resolve(key), got ${show(keyResolver)}`);
  }
  const choices: readonly UnknownKeys[] = ["refuse", "anonymous"];
  return {
    apiKey: toApiKey(orDefault(apiKey, {}), keySecret, jwt),
    keyResolver: keyResolver as KeyResolver,
    unknownKeys: oneOf(SITE, "unknownKeys", orDefault(unknownKeys, "refuse"), choices),
  };
}

function toApiKey(
  given: unknown,
  keySecret: string | undefined,
  jwt: TokenVerifier | undefined,
): ApiKeyPlaces | undefined {
  if (given === undefined) return undefined;
  const site = { ...SITE, name: "identity: apiKey" };
  const { header, query, scheme } = asOptions(site, given, ["header", "query", "scheme"]);
  const isNowhere = header === undefined && query === undefined && scheme === undefined;
  const places = {
    header: isNowhere
      ? "x-api-key"
      : header === undefined
        ? undefined
        : toName("apiKey.header", header),
    query: query === undefined ? undefined : toText("apiKey.query", query),
    scheme: scheme === undefined ? undefined : toName("apiKey.scheme", scheme),
    keySecret,
  };
  if (places.scheme === "bearer" && jwt?.header === "authorization") {
    refuse(site, "scheme can't be Bearer when jwt reads the Authorization header");
  }
  return places;
}

function toMethodOverride(given: unknown): IdentitySetup["methodOverride"] {
  if (given === undefined) return undefined;
  const site = { ...SITE, name: "identity: methodOverride" };
  const options =
    typeof given === "string" ? { header: given, methods: ["PUT", "PATCH", "DELETE"] } : given;
  const { header, methods } = asOptions(site, options, ["header", "methods"]);
  if (!Array.isArray(methods) || methods.length === 0) {
    refuse(site, `methods must be a list of methods, got ${show(methods)}`);
  }
  return {
    header: toName("methodOverride.header", header),
    methods: methods.map((method) => toName("methodOverride.methods", method).toUpperCase()),
  };
}

function toBoolean(field: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  refuse(SITE, `${field} must be true or false, got ${show(value)}`);
}

function toText(field: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  refuse(SITE, `${field} must be a non-empty string, got ${show(value)}`);
}

/** A token of HTTP, in lower case: the name of a header, a scheme or a method. */
function toName(field: string, value: unknown): string {
  if (typeof value === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(value)) return value.toLowerCase();
  refuse(SITE, `${field} must be a name such as x-user-id, got ${show(value)}`);
}
