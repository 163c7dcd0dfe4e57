// Lists of address ranges.

/** Ranges of addresses, IPv4 and IPv6. */
export interface CidrList {
  /** Whether the address, in any notation, lies in one of the ranges. */
  has(address: string): boolean;
}
