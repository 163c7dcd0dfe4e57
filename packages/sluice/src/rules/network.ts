// What is known about the network that an address belongs to: its autonomous system and its country. A policy asks for it
// only if a rule counts or matches by it, and at most once for each request.

import { SluiceError } from "../base/errors.js";
import { isThenable } from "../base/maybe-promise.js";
import { toClientAddress } from "./normalize/address.js";

/** The network of an address. What is left out is not known. */
export interface Network {
  /** The number of its autonomous system: 64500, or `"AS64500"`. */
  readonly asn?: number | string | undefined;
  /** Its country, by the two letters of ISO 3166: `"DE"`. */
  readonly country?: string | undefined;
}

/**
 * Finds the network of an address, which is written in one form: IPv4 that came mapped into IPv6 is IPv4, and there is no
 * zone. Undefined if it is not known. Must be quick, and must not return a promise. If it throws, the request fails.
 */
export type NetworkOf = (address: string) => Network | undefined;

/** An autonomous system has a number of 32 bits. */
const ASN_MAX = 0xffffffff;
const ASN = /^(?:AS)?(\d{1,10})$/i;
/** Checked before it becomes upper case: `ß` would become two letters. */
const COUNTRY = /^[A-Za-z][A-Za-z0-9]$/;
/** What databases and proxies write for a country that they don't know. */
const UNKNOWN_COUNTRIES: readonly string[] = ["XX", "ZZ"];

const WHOLE = { ipv6Prefix: 128 };
const NO_NETWORK: Network = {};

/** The network of a client's address in any notation; one of which nothing is known if there is none. */
export function findNetwork(networkOf: NetworkOf | undefined, ip: string | undefined): Network {
  if (networkOf === undefined || ip === undefined) return NO_NETWORK;
  const address = toClientAddress(ip, WHOLE);
  const found: unknown = address === undefined ? undefined : networkOf(address);
  if (found === undefined || found === null) return NO_NETWORK;
  if (typeof found === "object" && !isThenable(found)) return found;
  // Its type only: the value may be private.
  const seen = isThenable(found) ? "a promise" : typeof found;
  throw new SluiceError(
    "SLUICE_OPTION_INVALID",
    `networkOf must return an object with asn and country, or undefined; got ${seen}`,
  );
}

/** The number of an autonomous system in its one form: `64500`. Undefined if it is not one; 0 stands for none. */
export function toAsn(value: unknown): string | undefined {
  const [, digits] = ASN.exec(String(value).trim()) ?? [];
  const asn = digits === undefined ? 0 : Number(digits);
  return asn > 0 && asn <= ASN_MAX ? `${asn}` : undefined;
}

/** A country in its one form: `DE`. Undefined if it is not one, or stands for none. */
export function toCountry(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const written = value.trim();
  const country = COUNTRY.test(written) ? written.toUpperCase() : undefined;
  return country === undefined || UNKNOWN_COUNTRIES.includes(country) ? undefined : country;
}
