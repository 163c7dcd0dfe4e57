// The callers of a log that rules count by address, with the prints of their keys. A fixed number is remembered, in one
// array and without an object for each, however many callers a log has (bench replay/memory). The newest takes the place
// of another one.

import { type PrintedKey, toClientAddress } from "sluice/internals";
import { LogEntry } from "../../access-logs/log-entry.js";

/** Callers of a set: those that meet in one set rarely displace each other. */
const WAYS = 4;
/** The logarithm of the number of sets, to base 2: room for the callers of most hours, in 2 MB. */
const SETS_LOG = 15;
/** Columns of a set: both halves of what callers are found by, and both of their prints, which are 0 in a free place. */
const [SECOND, LOW, HIGH, SET_WORDS] = [WAYS, 2 * WAYS, 3 * WAYS, 4 * WAYS];
/** 2^32 over the golden ratio: products with it spread consecutive addresses. */
const GOLDEN = 0x9e3779b1;

/** The caller that was found last. */
class PrintedCaller implements PrintedKey {
  low = 0;
  high = 0;
  /** Whether it was not remembered. It may have been, long ago. */
  isNew = false;
  /** The entry that has the address. Few decisions need more than the print. */
  entry = new LogEntry();
  readonly #ipv6Prefix: number;

  constructor(ipv6Prefix: number) {
    this.#ipv6Prefix = ipv6Prefix;
  }

  get key(): string {
    return `ip:${this.address}`;
  }

  /** As rules count it; undefined if it is not an address. */
  get address(): string | undefined {
    return toClientAddress(this.entry.fillIn().ip ?? "", { ipv6Prefix: this.#ipv6Prefix });
  }
}

/** Finds callers by their addresses. */
export class PrintedCallers {
  readonly #print: (key: string) => PrintedKey;
  readonly #sets = new Int32Array(SET_WORDS << SETS_LOG);
  /** Filled in again for each request. */
  readonly #caller: PrintedCaller;
  #way = 0;

  /**
   * @param print - Makes the print of a key: the hash by which the store of the rules finds it.
   * @param ipv6Prefix - Bits by which IPv6 is counted.
   */
  constructor(print: (key: string) => PrintedKey, ipv6Prefix: number) {
    this.#print = print;
    this.#caller = new PrintedCaller(ipv6Prefix);
  }

  /** The caller of a request, valid until the next is asked for; undefined if it can't be counted by its address. */
  of(entry: LogEntry): PrintedCaller | undefined {
    const caller = this.#caller;
    caller.entry = entry;
    const { clients, client } = entry;
    if (clients === undefined) return this.#look(entry.ip ?? entry.ipv4);
    const { notes } = clients;
    const at = 2 * client;
    caller.low = notes[at];
    caller.high = notes[at + 1];
    caller.isNew = false;
    if ((caller.low | caller.high) !== 0) return caller;
    const found = this.#look(clients.addresses[client]);
    notes[at] = caller.low;
    notes[at + 1] = caller.high;
    return found;
  }

  #look(address: string | number | undefined): PrintedCaller | undefined {
    if (address === undefined || Number.isNaN(address)) return undefined;
    if (typeof address === "number") return this.#find(address, 0);
    // Found by another print: two callers meet as rarely as two keys do in the store itself.
    const { low, high } = this.#print(address);
    return this.#find(low, high);
  }

  #find(first: number, second: number): PrintedCaller | undefined {
    const caller = this.#caller;
    const sets = this.#sets;
    const start = (Math.imul(first, GOLDEN) >>> (32 - SETS_LOG)) * SET_WORDS;
    for (let at = start; at < start + WAYS; at++) {
      if (sets[at] !== first || sets[at + SECOND] !== second) continue;
      caller.low = sets[at + LOW];
      caller.high = sets[at + HIGH];
      caller.isNew = false;
      if ((caller.low | caller.high) !== 0) return caller;
    }
    return this.#meet(start, first, second);
  }

  #meet(start: number, first: number, second: number): PrintedCaller | undefined {
    const caller = this.#caller;
    const { address } = caller;
    if (address === undefined) return undefined;
    const { low, high } = this.#print(`ip:${address}`);
    caller.low = low;
    caller.high = high;
    caller.isNew = true;
    this.#way = (this.#way + 1) % WAYS;
    const at = start + this.#way;
    this.#sets[at] = first;
    this.#sets[at + SECOND] = second;
    this.#sets[at + LOW] = low;
    this.#sets[at + HIGH] = high;
    return caller;
  }
}
