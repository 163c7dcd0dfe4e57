// The section on identity, as the options that the library takes: files of keys are read, and a verifier of
// tokens is made.

import { readFileSync } from "node:fs";
import type { FactSource, IdentityOptions } from "sluice/http";
import { type JwtOptions, jwtVerifier } from "sluice/jwt";
import type { FileValues } from "./description/file.js";
import type { ResolvePath } from "./to-config.js";

type IdentityValues = FileValues["identity"];
type SourceValues = NonNullable<IdentityValues["user"]>;
type JwtValues = NonNullable<IdentityValues["jwt"]>;

/** Identity as the library takes it. Throws if a file of keys can't be used. */
export function toIdentityOptions(values: IdentityValues, at: ResolvePath): IdentityOptions {
  const { clientAddress, user, tenant, tier, attributes, apiKey, keySecret, jwt, methodOverride } =
    values;
  return {
    clientAddress: toAddressSource(clientAddress),
    forwardedHost: values.forwardedHost,
    bodyBytesMax: values.bodyBytesMax,
    bodyMsMax: values.bodyMsMax,
    ...withoutUndefined({
      trustedProxies: values.trustedProxies,
      fingerprintHeader: values.fingerprintHeader,
      user: toSource(user),
      tenant: toSource(tenant),
      tier: toSource(tier),
      apiKey: apiKey === undefined ? undefined : withoutUndefined(apiKey),
      keySecret,
      jwt: jwt === undefined ? undefined : jwtVerifier(toJwtOptions(jwt, at)),
      methodOverride,
    }),
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, source]) => [name, toSource(source) as FactSource]),
    ),
  };
}

function toAddressSource(name: string): NonNullable<IdentityOptions["clientAddress"]> {
  return name === "x-forwarded-for" || name === "forwarded" ? name : { header: name };
}

function toSource(source: SourceValues | undefined): FactSource | undefined {
  return source === undefined ? undefined : (withoutUndefined(source) as FactSource);
}

function toJwtOptions(values: JwtValues, at: ResolvePath): JwtOptions {
  const { keyFile, jwksFile, ...rest } = values;
  return withoutUndefined({
    ...rest,
    key: keyFile === undefined ? undefined : readFileSync(at(keyFile), "utf8"),
    jwksFile: jwksFile === undefined ? undefined : at(jwksFile),
  });
}

/** The same without fields that are undefined: the library's options distinguish the two. */
function withoutUndefined<T extends object>(
  fields: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
