// Lists of address ranges, sorted and merged once, so that looking an address up takes a few comparisons
// however long the list is. An address that is mapped into IPv6 is looked up as the IPv4 that it is.

import { show } from "../../base/errors.js";
import { type OptionSite, refuse } from "../../base/shapes/code-options.js";
import { runSteps, type Steps } from "../../base/steps.js";
import { type Family, maskWords, readAddress, toAddressText } from "../normalize/address.js";
import { RangeCollection } from "./range-collection.js";
import { RangeIndex } from "./range-index.js";

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

/** Only used within one call. */
const scratch = new Uint16Array(8);
const firstRead = new Uint16Array(8);
const lastRead = new Uint16Array(8);

/**
 * A list of ranges such as `10.0.0.0/8`, `2001:db8::/32`, single addresses, `loopback` and `private`.
 * Throws the site's error for anything else, also for a range with bits behind its prefix.
 */
export function toCidrList(texts: readonly string[], site: OptionSite = SITE): CidrList {
  if (!Array.isArray(texts)) refuse(site, `needs a list of ranges, got ${show(texts)}`);
  if (texts.length > RANGES_MAX) refuse(site, `at most ${RANGES_MAX} ranges, got ${texts.length}`);
  const ranges = new CollectedRanges();
  for (const text of texts) ranges.add(text, site);
  return runSteps(ranges.index());
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
  return namesOf(text).map((range) => {
    const first = new Uint16Array(8);
    const { family, length } = readPrefix(range, first, site);
    return { family, first, length };
  });
}

/** Ranges of both families that are to be looked up. */
export class CollectedRanges {
  readonly #ipv4 = new RangeCollection();
  readonly #ipv6 = new RangeCollection();

  /** Adds a range as it is written; see {@link toPrefixes}. Throws the site's error for what is not one. */
  add(text: string, site: OptionSite): void {
    for (const range of namesOf(text)) {
      const { family, length } = readPrefix(range, firstRead, site);
      for (let i = 0; i < 8; i++) lastRead[i] = firstRead[i] | (0xffff >>> keptBits(length, i));
      (family === 4 ? this.#ipv4 : this.#ipv6).add(firstRead, lastRead);
    }
  }

  /** Makes them a list. This can be interrupted. */
  *index(): Steps<RangesByFamily> {
    return new RangesByFamily(yield* RangeIndex.of(this.#ipv4), yield* RangeIndex.of(this.#ipv6));
  }
}

function namesOf(text: string): readonly string[] {
  return NAMED.get(text) ?? [text];
}

/** Reads a range: its first address into `first`. */
function readPrefix(
  text: unknown,
  first: Uint16Array,
  site: OptionSite,
): { readonly family: 4 | 6; readonly length: number } {
  const [address, bits, ...rest] = typeof text === "string" ? text.split("/") : [""];
  const family = readAddress(address, first);
  // IPv4 lies where mapped addresses do, behind 96 bits that are its family's.
  const ahead = family === 4 ? 96 : 0;
  const isDotted = family === 4 && !address.includes(":");
  const length = bits === undefined ? 128 : toBits(bits) + (isDotted ? ahead : 0);
  const isRange = length >= ahead && length <= 128 && rest.length === 0;
  if (family === 0 || !isRange || address.includes("%")) {
    refuse(site, `needs ranges such as 10.0.0.0/8, 2001:db8::/32 or loopback, got ${show(text)}`);
  }
  if (first.some((word, i) => (word & (0xffff >>> keptBits(length, i))) !== 0)) {
    maskWords(first, length);
    const meant = `${toAddressText(family, first)}/${length - ahead}`;
    refuse(site, `${show(text)} has bits behind its prefix: ${meant} or ${address} was meant`);
  }
  return { family, length };
}

function toBits(text: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : Number.NaN;
}

/** How many bits of one of the eight words of an address belong to a prefix of this length. */
function keptBits(length: number, word: number): number {
  return Math.min(16, Math.max(0, length - 16 * word));
}

/** Ranges, indexed by family. */
export class RangesByFamily implements CidrList {
  readonly #ipv4: RangeIndex;
  readonly #ipv6: RangeIndex;

  constructor(ipv4: RangeIndex, ipv6: RangeIndex) {
    this.#ipv4 = ipv4;
    this.#ipv6 = ipv6;
  }

  has(address: string): boolean {
    const family = readAddress(address, scratch);
    return family !== 0 && this.hasWords(family, scratch);
  }

  /** Whether an address that was read lies in one of the ranges. */
  hasWords(family: 4 | 6, words: Uint16Array): boolean {
    return (family === 4 ? this.#ipv4 : this.#ipv6).has(words);
  }
}
