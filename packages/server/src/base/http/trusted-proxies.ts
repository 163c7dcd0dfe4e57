// Which peers are trusted to say for whom they ask: the proxies that the configuration names.

import { type CidrList, toCidrList } from "sluice/rules";

/** Stands for peers that have no address, such as a Unix socket. */
const UNADDRESSED = "unaddressed";

/** The proxies that are trusted. */
export class TrustedProxies {
  readonly #ranges: CidrList;
  readonly #isUnaddressedTrusted: boolean;
  // Most requests come from the peer of the one before them.
  #latest = "";
  #isLatestTrusted = false;

  /** @param proxies - Addresses, ranges and names, as `identity.trustedProxies` has them. */
  constructor(proxies: readonly string[]) {
    this.#ranges = toCidrList(proxies.filter((proxy) => proxy !== UNADDRESSED));
    this.#isUnaddressedTrusted = proxies.includes(UNADDRESSED);
  }

  /** Whether a peer is one of them. */
  has(peer: string | undefined): boolean {
    if (peer === undefined) return this.#isUnaddressedTrusted;
    if (peer !== this.#latest) {
      this.#isLatestTrusted = this.#ranges.has(peer);
      this.#latest = peer;
    }
    return this.#isLatestTrusted;
  }
}
