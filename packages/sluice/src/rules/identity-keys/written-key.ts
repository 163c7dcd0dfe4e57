// Keys that people write: overrides and exemptions in a file of rules, keys in operators' commands. They
// are brought to the form in which requests are counted, or refused if no request could have them.

import { toPattern } from "../match/path-pattern.js";
import { toAsn, toCountry } from "../network.js";
import { toClientAddress, toSubnet } from "../normalize/address.js";
import { escapeInKey, unescapeValue } from "../normalize/escape.js";
import { toLoginName, toValue } from "../normalize/normalize-string.js";
import type { Dimension } from "../rule.js";
import { DIGEST } from "./digest.js";
import { DIGEST_MARK, isHashed, toBoundedEndpoint, toKeyValue, toPrefix } from "./key.js";

/** What else decides how keys are written. */
export interface KeyTextOptions {
  /** How many bits of an IPv6 address are one client; default 64. */
  readonly ipv6Prefix?: number;
}

/**
 * A key as it is counted under these dimensions: `user: 42` is `user:42`, and of an address any notation
 * will do. Undefined if it does not fit them. A separator in a value is written `%7C`. Secrets can only
 * be named by their hash, as `explain` shows it: `headerHash:x-api-key:…`.
 */
export function toKeyText(
  dimensions: readonly Dimension[],
  text: string,
  { ipv6Prefix = 64 }: KeyTextOptions = {},
): string | undefined {
  const written = text.split("|");
  if (written.length !== dimensions.length) return undefined;
  const parts: string[] = [];
  for (const [i, dimension] of dimensions.entries()) {
    const part = toPart(dimension, toCurrentName(written[i].trim()), ipv6Prefix);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts.join("|");
}

/** `subnet:` was the name of `ipPrefix:`. */
function toCurrentName(part: string): string {
  return part.replace(/^subnet:/, "ipPrefix:");
}

function toPart(dimension: Dimension, written: string, ipv6Prefix: number): string | undefined {
  const prefix = toPrefix(dimension);
  if (dimension.kind === "global") return written === prefix ? prefix : undefined;
  if (!written.startsWith(prefix)) return undefined;
  const value = toPartValue(dimension, written.slice(prefix.length).trim(), ipv6Prefix);
  return value === undefined ? undefined : prefix + value;
}

function toPartValue(
  dimension: Dimension,
  written: string,
  ipv6Prefix: number,
): string | undefined {
  switch (dimension.kind) {
    case "ip":
      return toNetwork(written, (address) => toClientAddress(address, { ipv6Prefix }));
    case "ipPrefix":
      return toNetwork(written, (address) => toSubnet(address, dimension));
    case "asn":
      return toAsn(written);
    case "country":
      return toCountry(written);
    case "endpoint":
      return toEndpoint(written);
    case "body":
      return toWritten(dimension, written, toLoginName);
    default:
      return toWritten(dimension, written, toValue);
  }
}

function toWritten(
  dimension: Dimension,
  written: string,
  normalise: (value: string) => string | undefined,
): string | undefined {
  if (isHashed(dimension)) return DIGEST.test(written) ? written : undefined;
  if (isShortened(written)) return written;
  const value = normalise(unescapeValue(written));
  return value === undefined ? undefined : toKeyValue(value);
}

/** Whether it is the mark and digest of a value that is too long to be written out. */
function isShortened(text: string): boolean {
  return text.startsWith(DIGEST_MARK) && DIGEST.test(text.slice(DIGEST_MARK.length));
}

/** With or without the length of its prefix, which must be the one that is counted by. */
function toNetwork(
  written: string,
  normalise: (address: string) => string | undefined,
): string | undefined {
  const [address, bits] = written.split("/");
  const network = normalise(address);
  if (network === undefined || bits === undefined) return network;
  return network.endsWith(`/${bits}`) ? network : undefined;
}

/** `GET /users/:id`, a path as a pattern has it: parameters by name, everything else filled in. */
function toEndpoint(written: string): string | undefined {
  if (isShortened(written)) return written;
  const [method, path, ...rest] = written.split(/\s+/);
  if (path === undefined || rest.length > 0) return undefined;
  try {
    const upper = unescapeValue(method).toUpperCase();
    return toBoundedEndpoint(
      `${escapeInKey(upper === "HEAD" ? "GET" : upper)} ${toPattern(path).text}`,
    );
  } catch {
    return undefined;
  }
}

const KINDS = [
  "user",
  "tenant",
  "ip",
  "asn",
  "country",
  "fingerprint",
  "endpoint",
  "global",
] as const;

/**
 * The dimensions that a key, as it is written, is one of; undefined if it is not a key. For keys that are
 * not written beside a rule: exemptions of a whole set.
 */
export function toDimensions(text: string): readonly Dimension[] | undefined {
  const dimensions = text.split("|").map((part) => toDimension(toCurrentName(part.trim())));
  return dimensions.every((dimension) => dimension !== undefined) ? dimensions : undefined;
}

function toDimension(part: string): Dimension | undefined {
  const [kind, name] = part.split(":");
  if (kind === "apiKeyHash") return { kind: "apiKey" };
  if (kind === "ipPrefix") return toPrefixDimension(part);
  const known = KINDS.find((each) => each === kind);
  if (known !== undefined) return { kind: known };
  const named = (["header", "cookie", "body", "attribute"] as const).find(
    (each) => kind === each || kind === `${each}Hash`,
  );
  if (named === undefined || name === undefined) return undefined;
  return { kind: named, name: unescapeValue(name) };
}

function toPrefixDimension(part: string): Dimension | undefined {
  const [, network, written] = /^ipPrefix:(.*)\/(\d{1,3})$/.exec(part) ?? [];
  if (network === undefined) return undefined;
  const bits = Number(written);
  const bitsMax = network.includes(":") ? 128 : 32;
  return bits < 1 || bits > bitsMax ? undefined : { kind: "ipPrefix", ipv4: bits, ipv6: bits };
}
