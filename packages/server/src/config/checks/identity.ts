// Checks the fields of identity against each other.

import type { Path } from "sluice/shapes";
import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";

type IdentityValues = FileValues["identity"];
type SourceValues = NonNullable<IdentityValues["user"]>;

/** Checks where facts come from, and the keys of tokens. */
export function checkIdentity({ identity }: FileValues, problems: ConfigProblems): void {
  for (const name of ["user", "tenant", "tier"] as const) {
    checkSource(identity[name], ["identity", name], identity, problems);
  }
  for (const [name, source] of Object.entries(identity.attributes)) {
    checkSource(source, ["identity", "attributes", name], identity, problems);
  }
  checkFingerprint(identity, problems);
  checkKeys(identity, problems);
}

function checkFingerprint(
  { fingerprintHeader, trustedProxies = [] }: IdentityValues,
  problems: ConfigProblems,
): void {
  if (fingerprintHeader === undefined || trustedProxies.length > 0) return;
  const why = "identity.trustedProxies is empty; name the proxies that write it";
  problems.add(["identity", "fingerprintHeader"], `would never be trusted: ${why}`);
}

/** Checks that there is a control plane that knows API keys, if they are to be resolved. */
export function checkApiKeys({ identity, control }: FileValues, problems: ConfigProblems): void {
  const { apiKeys, unknownKeys, keyLookupsPerSecond } = identity;
  if (apiKeys !== undefined) {
    if (control !== undefined) return;
    problems.add(["identity", "apiKeys"], "needs the section control, which says where it is");
    return;
  }
  for (const [field, value] of Object.entries({ unknownKeys, keyLookupsPerSecond })) {
    if (value !== undefined) problems.add(["identity", field], "needs apiKeys: control");
  }
}

function checkSource(
  source: SourceValues | undefined,
  path: Path,
  { jwt, trustedProxies = [] }: IdentityValues,
  problems: ConfigProblems,
): void {
  if (source === undefined) return;
  const { header, claim, trust } = source;
  if ((header === undefined) === (claim === undefined)) {
    problems.add(path, `needs header or claim, got ${header === undefined ? "neither" : "both"}`);
  } else if (claim !== undefined && jwt === undefined) {
    problems.add([...path, "claim"], "needs identity.jwt, which verifies tokens");
  } else if (header === undefined && trust !== undefined) {
    problems.add([...path, "trust"], "needs header");
  } else if (header !== undefined && trust !== "anyone" && trustedProxies.length === 0) {
    const remedy = "identity.trustedProxies is empty; name the proxies, or set trust: anyone";
    problems.add([...path, "header"], `would never be trusted: ${remedy}`);
  }
}

const KEY_FIELDS = ["keyFile", "jwksFile", "jwksUrl", "secret"] as const;

function checkKeys({ jwt }: IdentityValues, problems: ConfigProblems): void {
  if (jwt === undefined) return;
  const given = KEY_FIELDS.filter((field) => jwt[field] !== undefined);
  if (given.length !== 1) {
    const seen = given.length === 0 ? "none" : given.join(" and ");
    problems.add(["identity", "jwt"], `needs one of ${KEY_FIELDS.join(", ")}, got ${seen}`);
  }
  const isSecret = jwt.secret !== undefined;
  for (const [i, algorithm] of jwt.algorithms.entries()) {
    if (algorithm.startsWith("HS") === isSecret) continue;
    const kind = isSecret
      ? "a secret needs one of HS256, HS384, HS512"
      : `${algorithm} needs a secret`;
    problems.add(["identity", "jwt", "algorithms", i], `can't be used: ${kind}`);
  }
}
