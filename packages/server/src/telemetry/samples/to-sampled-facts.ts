// Reads what a sample keeps of a request, in bounded space. Secrets are replaced by their hash, which is the same for
// the same value, so that decisions about one caller can still be recognised as such.

import type { Facts } from "sluice/rules";
import type { HashKey } from "../log/key-hash.js";
import { type FactKind, type FactNames, isSecret } from "./fact-names.js";
import type { SampledFacts } from "./sampled-decision.js";

/** Longer values are hashed, as in keys. */
const VALUE_CHARS_MAX = 256;
/** Longer paths are cut. */
const PATH_CHARS_MAX = 1_024;
/** Longer lists are left out. */
const LIST_LENGTH_MAX = 64;

/** What a sample keeps of a request. */
export function toSampledFacts(facts: Facts, names: FactNames, hash: HashKey): SampledFacts {
  const { method, path, host, ip, user, apiKey, tenant, tier, plan } = facts;
  const { asn, country, fingerprint } = facts;
  const bounded = (value: string) => (value.length <= VALUE_CHARS_MAX ? value : hash(value));
  const pick = (kind: FactKind, from: object | undefined) =>
    pickValues(from, names[kind], (name, value) =>
      isSecret(kind, name) ? toHidden(value, hash) : toKept(value, bounded),
    );
  const rest = withoutUndefined({
    host: host && bounded(host),
    ip: ip && bounded(ip),
    asn: asn === undefined ? undefined : bounded(`${asn}`),
    country: country && bounded(country),
    fingerprint: fingerprint && bounded(fingerprint),
    user: user && bounded(user),
    apiKey: apiKey && bounded(apiKey),
    tenant: tenant && bounded(tenant),
    tier: tier && bounded(tier),
    plan: plan ? bounded(plan) : undefined,
    scopes: names.attributes.has("scope") ? facts.scopes?.map(bounded) : undefined,
    headers: merge(
      names.headers.size === 0 ? undefined : pick("headers", facts.headers),
      names.costHeaders.size === 0 ? undefined : costHeadersOf(facts.headers, names),
    ),
    cookies: names.cookies.size === 0 ? undefined : pick("cookies", facts.cookies),
    body: merge(
      names.body.size === 0 ? undefined : pick("body", facts.body),
      names.costPaths.size === 0 ? undefined : costNumbersOf(facts.body, names),
    ),
    attributes: names.attributes.size === 0 ? undefined : pick("attributes", facts.attributes),
  });
  return { method, path: path.slice(0, PATH_CHARS_MAX), ...rest };
}

type Fields = Record<string, unknown>;

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

/** Headers that costs can use: up to 15 digits. Others cost what a request without the header does. */
function costHeadersOf(headers: object | undefined, { costHeaders }: FactNames) {
  const toUnits = (_name: string, value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value) ? value : undefined;
  return pickValues(headers, costHeaders, toUnits);
}

/** The numbers of a body that costs use, where they were. */
function costNumbersOf(body: unknown, { costPaths }: FactNames): Fields | undefined {
  const numbers: Fields = {};
  for (const path of costPaths.values()) {
    const found = path.reduce(ownValue, body);
    if (!Number.isFinite(found)) continue;
    let into = numbers;
    for (const name of path.slice(0, -1)) {
      if (!Object.hasOwn(into, name)) into[name] = {};
      into = into[name] as Fields;
    }
    into[path[path.length - 1]] = found;
  }
  return Object.keys(numbers).length === 0 ? undefined : numbers;
}

function ownValue(of: unknown, name: string): unknown {
  const isObject = typeof of === "object" && of !== null && !Array.isArray(of);
  return isObject && Object.hasOwn(of, name) ? (of as Fields)[name] : undefined;
}

function merge(one: Fields | undefined, other: Fields | undefined): Fields | undefined {
  return one === undefined || other === undefined ? (one ?? other) : { ...one, ...other };
}

function toHidden(value: unknown, hash: HashKey): string | undefined {
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
