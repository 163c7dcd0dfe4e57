// Which peers are trusted to say for whom they ask: the proxies that the configuration names.

import { BlockList, isIP, isIPv6 } from "node:net";

const MAPPED = "::ffff:";

/** The proxies that are trusted. */
export class TrustedPeers {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;
  // Most requests come from the peer of the one before them.
  #latest = "";
  #isLatestTrusted = false;

  /** @param proxies - Addresses and CIDR blocks, which the door has checked. */
  constructor(proxies: readonly string[]) {
    this.#isEmpty = proxies.length === 0;
    for (const proxy of proxies) this.#add(proxy);
  }

  /** Whether a peer is one of them; one without an address is not. */
  has(peer: string | undefined): boolean {
    if (this.#isEmpty || peer === undefined) return false;
    if (peer !== this.#latest) {
      this.#isLatestTrusted = this.#find(peer);
      this.#latest = peer;
    }
    return this.#isLatestTrusted;
  }

  #find(peer: string): boolean {
    const address = toPlain(peer);
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address));
  }

  #add(proxy: string): void {
    const [address, bits] = proxy.split("/");
    if (isIP(address) === 0) return;
    if (bits === undefined) this.#list.addAddress(toPlain(address), familyOf(toPlain(address)));
    else this.#list.addSubnet(address, Number(bits), familyOf(address));
  }
}

/** A socket for both families shows IPv4 in the clothes of IPv6. */
function toPlain(address: string): string {
  return address.startsWith(MAPPED) && address.includes(".")
    ? address.slice(MAPPED.length)
    : address;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
