// Validates the `identity` options and fills in their defaults, once, when a middleware or a service is created.

import { type Clock, toClock } from "../../base/clock.js";
import { readOptions, refuse } from "../../base/shapes/code-options.js";
import type { ReadAs } from "../../base/shapes/shapes.js";
import type { ApiKeyPlaces } from "./api-keys/sent-key.js";
import { ClientAddresses } from "./client-address.js";
import type { IdentityOptions, IdentitySetup, NamedSource } from "./identity-options.js";
import { IDENTITY_OPTIONS, type ReadSource, SITE } from "./identity-shapes.js";

type Given = ReadAs<typeof IDENTITY_OPTIONS>;

const NO_PROXIES = { proxies: undefined, isUnaddressedTrusted: false, isConfigured: false };

/** Validates options and fills in defaults. */
export function toIdentitySetup<Raw>(
  options: IdentityOptions<Raw> | undefined,
  clock: Clock | undefined,
): IdentitySetup {
  const given = readOptions(SITE, IDENTITY_OPTIONS, options ?? {});
  const sources = toSources(given);
  if (sources.claimSources.length > 0 && given.jwt === undefined) {
    refuse(SITE, "a claim needs jwt, a verifier made by jwtVerifier of sluice/jwt");
  }
  if (given.unknownKeys !== undefined && given.keyResolver === undefined) {
    refuse(SITE, "unknownKeys needs keyResolver");
  }
  return {
    clients: new ClientAddresses(given.trustedProxies ?? NO_PROXIES, given.clientAddress),
    isHostForwarded: given.forwardedHost,
    fingerprintHeader: given.fingerprintHeader,
    ...sources,
    jwt: given.jwt,
    apiKey: toApiKey(given),
    keyResolver: given.keyResolver,
    unknownKeys: given.unknownKeys ?? "refuse",
    body: {
      bytesMax: given.bodyBytesMax,
      arrivalMsMax: given.bodyMsMax,
      clock: toClock(SITE, clock),
    },
    methodOverride: given.methodOverride,
  };
}

type Sources = Pick<IdentitySetup, "headerSources" | "claimSources" | "functions">;

function toSources(given: Given): Sources {
  const sources = { headerSources: [], claimSources: [], functions: [] } as {
    [K in keyof Sources]: Sources[K][number][];
  };
  const add = (to: NamedSource, source: ReadSource) => {
    if ("ask" in source) sources.functions.push({ ...to, ...source });
    else if ("path" in source) sources.claimSources.push({ ...to, ...source });
    else sources.headerSources.push({ ...to, ...source });
  };
  for (const name of ["user", "tenant", "tier"] as const) {
    const source = given[name];
    if (source !== undefined) add({ isAttribute: false, name }, source);
  }
  for (const [name, source] of given.attributes) add({ isAttribute: true, name }, source);
  return sources;
}

/** A resolver without places looks at the usual one. */
function toApiKey(given: Given): ApiKeyPlaces | undefined {
  const { apiKey, keyResolver, keySecret, jwt } = given;
  if (apiKey === undefined && keyResolver === undefined) return undefined;
  const { header, query, scheme } = apiKey ?? {};
  if (scheme === "bearer" && jwt?.header === "authorization") {
    refuse(SITE, "apiKey.scheme can't be Bearer when jwt reads the Authorization header");
  }
  const isNowhere = header === undefined && query === undefined && scheme === undefined;
  return { header: isNowhere ? "x-api-key" : header, query, scheme, keySecret };
}
