// The denylist and the allowlist of a policy. One object may serve several policies, and its lists can be replaced at
// any time: the next request is decided by the new ones.

import { readAddress } from "../normalize/address.js";
import { type AddressList, EMPTY_LIST } from "./address-list.js";

/** Which list an address is in. One that is in both is in the denylist. */
export type Listed = "deny" | "allow";

/** The lists of {@link AddressLists}. */
export interface ListsInput {
  /** Requests of these addresses are refused before any rule is asked. Default: none. */
  readonly deny?: AddressList | undefined;
  /** Requests of these addresses are not limited. Default: none. */
  readonly allow?: AddressList | undefined;
}

/** Only used between reading an address and looking it up. */
const scratch = new Uint16Array(8);

/** Addresses that are refused, and addresses that are not limited, whatever the rules say. */
export class AddressLists {
  #deny: AddressList = EMPTY_LIST;
  #allow: AddressList = EMPTY_LIST;
  // Most requests come from the address of the one before them.
  #latestIp: string | undefined;
  #latest: Listed | undefined;

  constructor(lists: ListsInput = {}) {
    this.replace(lists);
  }

  /** How many entries each list has. */
  get entries(): Readonly<Record<Listed, number>> {
    return { deny: this.#deny.entries, allow: this.#allow.entries };
  }

  /** Puts other lists in force immediately. A list that is left out is empty. */
  replace({ deny = EMPTY_LIST, allow = EMPTY_LIST }: ListsInput): void {
    this.#deny = deny;
    this.#allow = allow;
    this.#latestIp = undefined;
  }

  /** Which list an address is in, in any notation; undefined if it is in neither, or is not an address. */
  find(ip: string | undefined): Listed | undefined {
    if (ip === undefined) return undefined;
    if (ip !== this.#latestIp) {
      this.#latest = this.#look(ip);
      this.#latestIp = ip;
    }
    return this.#latest;
  }

  #look(ip: string): Listed | undefined {
    const family = readAddress(ip, scratch);
    if (family === 0) return undefined;
    if (this.#deny.ranges.hasWords(family, scratch)) return "deny";
    return this.#allow.ranges.hasWords(family, scratch) ? "allow" : undefined;
  }
}
