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
/** Longer lists are left out. */
const LIST_LENGTH_MAX = 64;

/** What a sample keeps of a request. */
export function toSampledFacts(facts: Facts, names: FactNames, hash: KeyHash): SampledFacts {
  const { method, path, host, ip, user, apiKey, tenant, tier, plan } = facts;
  const bounded = (value: string) => (value.length <= VALUE_CHARS_MAX ? value : hash(value));
  const pick = (kind: keyof FactNames, from: object | undefined) =>
    pickValues(from, names[kind], (name, value) =>
      isSecret(kind, name) ? toHidden(value, hash) : toKept(value, bounded),
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
  keep: (name: string, value: unknown) => unknown,
): Record<string, unknown> | undefined {
  if (from === undefined) return undefined;
  const picked: Record<string, unknown> = {};
  let count = 0;
  for (const name of names) {
    const value: unknown = (from as Record<string, unknown>)[name];
    const kept = value === undefined || value === null ? undefined : keep(name, value);
    if (kept === undefined) continue;
    picked[name] = kept;
    count++;
  }
  return count === 0 ? undefined : picked;
}

function toHidden(value: unknown, hash: KeyHash): string | undefined {
  const text = toText(value);
  return text === undefined ? undefined : hash(text);
}

function toKept(value: unknown, bounded: (text: string) => string): unknown {
  if (typeof value === "number" || typeof value === "boolean") return value;
  const text = toText(value);
  return text === undefined ? undefined : bounded(text);
}

/**
 * A scalar, or a short list of scalars, as a string. Undefined for anything else: clients choose what is in a body, and
 * both `String` and `JSON.stringify` throw on some of it, such as a thousand nested lists.
 */
function toText(value: unknown): string | undefined {
  if (isScalar(value)) return String(value);
  if (!Array.isArray(value) || value.length > LIST_LENGTH_MAX) return undefined;
  return value.every(isScalar) ? value.join(", ") : undefined;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function withoutUndefined(record: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(record)) if (record[name] === undefined) delete record[name];
  return record;
}
