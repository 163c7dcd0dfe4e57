// Addresses as `keyGenerator` should return them.

import { toClientAddress } from "../../../rules/identity-keys/address.js";

const IPV6_PREFIX = 56;

/**
 * The key of a client's address: IPv4 as it is, IPv6 by its network, `2001:db8:1:2::/56`, because a client
 * has all addresses of one. For a `keyGenerator` of one's own.
 *
 * @param ipv6Subnet - The bits of an IPv6 address that are one client, 1 to 128, or `false` for all;
 * default 56.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = IPV6_PREFIX): string {
  return toClientAddress(ip, { ipv6Prefix: ipv6Subnet || 128 }) ?? ip;
}
