// Lists of address ranges, sorted and merged once, so that looking an address up takes a few comparisons
// however long the list is. An address that is mapped into IPv6 is looked up as the IPv4 that it is.

import { show } from "../../base/errors.js";
import { type OptionSite, refuse } from "../../base/shapes/code-options.js";
import { type Family, maskWords, readAddress, toAddressText } from "../normalize/address.js";

/** Ranges of addresses, IPv4 and IPv6. */
export interface CidrList {
  /** Whether the address, in any notation, lies in one of the ranges. What is not an address does not. */
  has(address: string): boolean;
}

/** More is not a list that a person keeps. */
const RANGES_MAX = 100_000;
const SITE = { name: "address ranges", code: "SLUICE_OPTION_INVALID" } as const;

/**
 * Names for ranges. `private` is what never comes over the Internet: RFC 1918, unique local and link-local
 * addresses. Not 100.64.0.0/10: behind a carrier's NAT there are strangers.
 */
const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ["loopback", ["127.0.0.0/8", "::1"]],
  [
    "private",
    ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"],
  ],
]);

/** From one address to another, both included; see {@link readAddress} for the words. */
interface Range {
  readonly family: Family;
  readonly first: Uint16Array;
  readonly last: Uint16Array;
}

const scratch = new Uint16Array(8);

/**
 * A list of ranges such as `10.0.0.0/8`, `2001:db8::/32`, single addresses, `loopback` and `private`.
 * Throws the site's error for anything else, also for a range with bits behind its prefix.
 */
export function toCidrList(texts: readonly string[], site: OptionSite = SITE): CidrList {
  if (!Array.isArray(texts)) refuse(site, `needs a list of ranges, got ${show(texts)}`);
  if (texts.length > RANGES_MAX) refuse(site, `at most ${RANGES_MAX} ranges, got ${texts.length}`);
  const ranges = texts.flatMap((text) => toPrefixes(text, site).map(toRange));
  return new RangesByFamily(ranges);
}

/** All addresses that begin with the same bits; see {@link readAddress} for the words. */
export interface AddressPrefix {
  readonly family: Family;
  readonly first: Uint16Array;
  /** How many bits, of 128: those of IPv4 come after the 96 of mapped addresses. */
  readonly length: number;
}

/**
 * The prefixes of a range as it is written: `10.0.0.0/8`, a single address, or the names `loopback` and `private`, which
 * are several. Throws the site's error for anything else.
 */
export function toPrefixes(text: string, site: OptionSite): readonly AddressPrefix[] {
  return (NAMED.get(text) ?? [text]).map((range) => toPrefix(range, site));
}

function toRange({ family, first, length }: AddressPrefix): Range {
  return { family, first, last: toLast(first, length) };
}

function toPrefix(text: unknown, site: OptionSite): AddressPrefix {
  const [address, bits, ...rest] = typeof text === "string" ? text.split("/") : [""];
  const first = new Uint16Array(8);
  const family = readAddress(address, first);
  // IPv4 lies where mapped addresses do, behind 96 bits that are its family's.
  const ahead = family === 4 ? 96 : 0;
  const isDotted = family === 4 && !address.includes(":");
  const length = bits === undefined ? 128 : toBits(bits) + (isDotted ? ahead : 0);
  const isRange = length >= ahead && length <= 128 && rest.length === 0;
  if (family === 0 || !isRange || address.includes("%")) {
    refuse(site, `needs ranges such as 10.0.0.0/8, 2001:db8::/32 or loopback, got ${show(text)}`);
  }
  const network = first.slice();
  maskWords(network, length);
  if (compare(network, first) !== 0) {
    const meant = `${toAddressText(family, network)}/${length - ahead}`;
    refuse(site, `${show(text)} has bits behind its prefix: ${meant} or ${address} was meant`);
  }
  return { family, first, length };
}

function toBits(text: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : Number.NaN;
}

function toLast(first: Uint16Array, length: number): Uint16Array {
  const mask = new Uint16Array(8).fill(0xffff);
  maskWords(mask, length);
  return first.map((word, i) => word | (~mask[i] & 0xffff));
}

function compare(a: Uint16Array, b: Uint16Array): number {
  for (let i = 0; i < 8; i++) {
    if (a[i] !== b[i]) return a[i] - b[i];
  }
  return 0;
}

class RangesByFamily implements CidrList {
  readonly #ipv4: readonly Range[];
  readonly #ipv6: readonly Range[];

  constructor(ranges: readonly Range[]) {
    this.#ipv4 = merge(ranges.filter(({ family }) => family === 4));
    this.#ipv6 = merge(ranges.filter(({ family }) => family === 6));
  }

  has(address: string): boolean {
    const family = readAddress(address, scratch);
    if (family === 0) return false;
    const ranges = family === 4 ? this.#ipv4 : this.#ipv6;
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(ranges[middle].first, scratch) <= 0) low = middle + 1;
      else high = middle;
    }
    return low > 0 && compare(scratch, ranges[low - 1].last) <= 0;
  }
}

/** Sorted by where they start; those that overlap have become one. */
function merge(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const range of ranges.toSorted((a, b) => compare(a.first, b.first))) {
    const before = merged.at(-1);
    if (before === undefined || compare(before.last, range.first) < 0) merged.push(range);
    else if (compare(before.last, range.last) < 0) {
      merged[merged.length - 1] = { ...before, last: range.last };
    }
  }
  return merged;
}
