// Reads off a request what a sample keeps of it, in bounded room. Secrets are replaced by their hash, which is the same
// for the same value, so that decisions about one caller still belong together.

import type { Facts } from "sluice/rules";
import type { KeyHash } from "../log/key-hash.js";
import { type FactNames, isSecret } from "./fact-names.js";
import type { SampledFacts } from "./sampled-decision.js";

/** Longer values are hashed, as in keys. */
const VALUE_CHARS_MAX = 256;
/** Longer paths are cut. */
const PATH_CHARS_MAX = 1_024;
/** Larger values of a body are left out. */
const BODY_CHARS_MAX = 1_024;

/** What a sample keeps of a request. */
export function toSampledFacts(facts: Facts, names: FactNames, hash: KeyHash): SampledFacts {
  const { method, path, host, ip, user, apiKey, tenant, tier, plan } = facts;
  const bounded = (value: string) => (value.length <= VALUE_CHARS_MAX ? value : hash(value));
  const pick = (kind: keyof FactNames, from: object | undefined) =>
    pickValues(from, names[kind], (name, value) =>
      isSecret(kind, name) ? hash(String(value)) : toValue(value, bounded),
    );
  const rest = withoutUndefined({
    host: host && bounded(host),
    ip: ip && bounded(ip),
    user: user && bounded(user),
    apiKey: apiKey && bounded(apiKey),
    tenant: tenant && bounded(tenant),
    tier: tier && bounded(tier),
    plan: plan ? bounded(plan) : undefined,
    headers: names.headers.size === 0 ? undefined : pick("headers", facts.headers),
    cookies: names.cookies.size === 0 ? undefined : pick("cookies", facts.cookies),
    body: names.body.size === 0 ? undefined : pick("body", facts.body),
    attributes: names.attributes.size === 0 ? undefined : pick("attributes", facts.attributes),
  });
  return { method, path: path.slice(0, PATH_CHARS_MAX), ...rest };
}

/** Roughly the characters that facts take. */
export function charsOf({ path, host, ip, user, ...rest }: SampledFacts): number {
  const more = Object.values(rest).reduce(
    (sum: number, value) =>
      sum + (typeof value === "object" ? JSON.stringify(value).length : String(value).length),
    0,
  );
  return path.length + (host?.length ?? 0) + (ip?.length ?? 0) + (user?.length ?? 0) + more;
}

function pickValues(
  from: object | undefined,
  names: ReadonlySet<string>,
  toKept: (name: string, value: unknown) => unknown,
): Record<string, unknown> | undefined {
  if (from === undefined) return undefined;
  const picked: Record<string, unknown> = {};
  let count = 0;
  for (const name of names) {
    const value: unknown = (from as Record<string, unknown>)[name];
    const kept = value === undefined || value === null ? undefined : toKept(name, value);
    if (kept === undefined) continue;
    picked[name] = kept;
    count++;
  }
  return count === 0 ? undefined : picked;
}

function toValue(value: unknown, bounded: (text: string) => string): unknown {
  if (typeof value === "string") return bounded(value);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return bounded(value.join(", "));
  }
  const text = JSON.stringify(value);
  return text !== undefined && text.length <= BODY_CHARS_MAX ? value : undefined;
}

function withoutUndefined(record: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(record)) if (record[name] === undefined) delete record[name];
  return record;
}
