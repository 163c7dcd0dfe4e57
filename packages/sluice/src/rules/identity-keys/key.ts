// Keys: what a rule counts by, as a string such as `tenant:acme|user:42`. Each part names its dimension, and its
// value is normalised and escaped, so that different callers never share a key and one caller never has two. Secrets
// and values that are too long appear as a digest.

import type { Facts } from "../facts.js";
import type { ReadPath } from "../match/normalize-path.js";
import type { NormalizedRequest } from "../match/normalized-request.js";
import {
  fillPattern,
  fitsPattern,
  type PathPattern,
  toPathText,
  toPattern,
} from "../match/path-pattern.js";
import { toSubnet } from "../normalize/address.js";
import { escapeInKey } from "../normalize/escape.js";
import { toHeaderValue, toLoginName, toValue } from "../normalize/normalize-string.js";
import type { Dimension } from "../rule.js";
import { toDigest } from "./digest.js";
import { isSecretName } from "./secret-names.js";

/** The key of a request under some dimensions; undefined if it has no value for one of them. */
export type KeyOf = (request: NormalizedRequest) => string | undefined;

/** Values that are longer when written out are replaced by a digest. */
export const VALUE_LENGTH_MAX = 256;

/** No escape starts so: a digest is never the text of another value. */
export const DIGEST_MARK = "%h";

/**
 * A function that makes keys of these dimensions. `paths` are the patterns of the rule: its endpoints are
 * counted by the first pattern that fits; without patterns each path is an endpoint of its own.
 */
export function compileKey(dimensions: readonly Dimension[], paths: readonly string[] = []): KeyOf {
  const parts = dimensions.map((dimension) => compilePart(dimension, paths));
  const [first, second] = parts;
  if (parts.length === 1) return first;
  if (parts.length === 2) return (request) => join(first(request), request, second);
  return (request) => {
    let key = first(request);
    for (let i = 1; i < parts.length; i++) key = join(key, request, parts[i]);
    return key;
  };
}

function join(
  key: string | undefined,
  request: NormalizedRequest,
  part: KeyOf,
): string | undefined {
  if (key === undefined) return undefined;
  const text = part(request);
  return text === undefined ? undefined : `${key}|${text}`;
}

const TENANT_PREFIX = toPrefix({ kind: "tenant" });

/** One function for all rules that count by it: what ten thousand share stays in the processor's cache. */
const SHARED: ReadonlyMap<Dimension["kind"], KeyOf> = new Map<Dimension["kind"], KeyOf>([
  ["global", () => "global"],
  ["ip", ({ address }) => (address === undefined ? undefined : `ip:${address}`)],
  ["asn", ({ asn }) => (asn === undefined ? undefined : `asn:${asn}`)],
  ["country", ({ country }) => (country === undefined ? undefined : `country:${country}`)],
  ["fingerprint", toValuePart({ kind: "fingerprint" })],
  ["user", toValuePart({ kind: "user" })],
  ["tenant", ({ facts }) => facts.tenantKey ?? toTenantKey(facts.tenant)],
  ["apiKey", toValuePart({ kind: "apiKey" })],
]);

/** A tenant as it stands in keys; undefined if there is none. */
export function toTenantKey(tenant: string | undefined): string | undefined {
  const value = toValue(tenant);
  return value === undefined ? undefined : TENANT_PREFIX + toKeyValue(value);
}

function compilePart(dimension: Dimension, paths: readonly string[]): KeyOf {
  const shared = SHARED.get(dimension.kind);
  if (shared !== undefined) return shared;
  const prefix = toPrefix(dimension);
  switch (dimension.kind) {
    case "ipPrefix":
      return ({ facts }) => {
        const subnet = facts.ip === undefined ? undefined : toSubnet(facts.ip, dimension);
        return subnet === undefined ? undefined : prefix + subnet;
      };
    case "endpoint":
      return compileEndpoint(prefix, paths.map(toPattern));
    default:
      return toValuePart(dimension);
  }
}

function toValuePart(dimension: Dimension): KeyOf {
  const prefix = toPrefix(dimension);
  const read = toReader(dimension);
  const write = isHashed(dimension) ? toDigest : toKeyValue;
  return ({ facts }) => {
    const value = read(facts);
    return value === undefined ? undefined : prefix + write(value);
  };
}

/** The value of a dimension, normalised. */
function toReader(dimension: Dimension): (facts: Facts) => string | undefined {
  switch (dimension.kind) {
    case "user":
      return (facts) => toValue(facts.user);
    case "apiKey":
      return (facts) => toValue(facts.apiKey);
    case "fingerprint":
      return (facts) => toValue(facts.fingerprint);
    case "header":
      return (facts) => toHeaderValue(facts.headers?.[dimension.name]);
    case "cookie":
      return (facts) => toValue(facts.cookies?.[dimension.name]);
    case "body":
      return isHashed(dimension)
        ? (facts) => toValue(facts.body?.[dimension.name])
        : (facts) => toLoginName(facts.body?.[dimension.name]);
    case "attribute":
      return (facts) => toValue(facts.attributes?.[dimension.name]);
    default:
      return () => undefined;
  }
}

function compileEndpoint(prefix: string, patterns: readonly PathPattern[]): KeyOf {
  return ({ method, path }) => {
    const text = toEndpointPath(path, patterns);
    return prefix + toBoundedEndpoint(`${escapeInKey(method === "HEAD" ? "GET" : method)} ${text}`);
  };
}

function toEndpointPath({ segments, others }: ReadPath, patterns: readonly PathPattern[]): string {
  for (const variant of others.length === 0 ? [segments] : [segments, ...others]) {
    for (const pattern of patterns) {
      if (fitsPattern(pattern, variant)) return fillPattern(pattern, variant);
    }
  }
  return toPathText(segments);
}

/** A normalised value as it stands in a key, or its digest if it is too long. */
export function toKeyValue(value: string): string {
  const text = value.length <= VALUE_LENGTH_MAX ? escapeInKey(value) : value;
  return text.length <= VALUE_LENGTH_MAX ? text : DIGEST_MARK + toDigest(value);
}

/** An escaped endpoint, or its digest if it is too long. */
export function toBoundedEndpoint(text: string): string {
  return text.length <= VALUE_LENGTH_MAX ? text : DIGEST_MARK + toDigest(text);
}

/** Whether the values of a dimension are secrets that only their hash stands for. */
export function isHashed(dimension: Dimension): boolean {
  switch (dimension.kind) {
    case "cookie":
      return true;
    case "header":
    case "body":
    case "attribute":
      return isSecretName(dimension.name);
    default:
      return false;
  }
}

/** What the part of a dimension starts with, before its value: `user:`, `headerHash:x-api-key:`. */
export function toPrefix(dimension: Dimension): string {
  switch (dimension.kind) {
    case "global":
      return "global";
    case "apiKey":
      // The fact is a hash already, and its kind has to say so: stores refuse keys that look secret.
      return "apiKeyHash:";
    case "header":
    case "cookie":
    case "body":
    case "attribute": {
      const kind = isHashed(dimension) ? `${dimension.kind}Hash` : dimension.kind;
      return `${kind}:${escapeInKey(dimension.name).replaceAll(":", "%3A")}:`;
    }
    default:
      return `${dimension.kind}:`;
  }
}

/** The type of a key, for labels of metrics: `tenant|user`, `header:x-plan`, `ipPrefix:24/48`. */
export function describeKey(dimensions: readonly Dimension[]): string {
  return dimensions.map(describe).join("|");
}

function describe(dimension: Dimension): string {
  if (dimension.kind === "ipPrefix") return `ipPrefix:${dimension.ipv4}/${dimension.ipv6}`;
  return "name" in dimension ? `${dimension.kind}:${escapeInKey(dimension.name)}` : dimension.kind;
}

/**
 * Whether a dimension may be known only once the caller has proved who it is, a function in code was
 * asked, or the body was read.
 */
export function needsIdentity({ kind }: Dimension): boolean {
  return kind === "user" || kind === "tenant" || kind === "attribute" || kind === "body";
}
