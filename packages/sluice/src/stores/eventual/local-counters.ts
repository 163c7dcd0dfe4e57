// The local counters of all keys that were asked for lately, by counter and key. There are at most `keysMax`;
// beyond that the one with the least to send is dropped.

import { SluiceError } from "../../base/errors.js";
import { LinkedList } from "../../base/linked-list.js";
import type { Limit } from "../../limits/limits.js";
import { isLeasable } from "../leased/leases/leasable.js";
import type { Counter } from "../store.js";
import { LocalCounter } from "./local-counter.js";

/** How many of the oldest local counters are compared when one has to go. */
const COMPARED_MAX = 8;

/** The local counters of the keys of one counter, whatever its numbers. */
interface Group {
  readonly name: string;
  readonly localCounters: Map<string, LocalCounter>;
}

/** A bounded collection of local counters. */
export class LocalCounters {
  readonly #keysMax: number;
  /** Groups that have local counters. */
  readonly #groups = new Map<string, Group>();
  readonly #groupOf = new WeakMap<Counter, Group>();
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastGroup: Group | undefined;
  readonly #all = new LinkedList<LocalCounter>();
  #unitsEvicted = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Units that were never sent, because their local counter had to go. */
  get unitsEvicted(): number {
    return this.#unitsEvicted;
  }

  /** The local counter of a key under the numbers of `counter`; made if there is none. */
  of(counter: Counter, key: string): LocalCounter {
    const localCounter = this.#localCountersOf(counter).get(key);
    if (localCounter === undefined) return this.#add(counter, key);
    localCounter.counter = counter;
    return localCounter;
  }

  /** The local counter of a key, if there is one. */
  find(counter: Counter, key: string): LocalCounter | undefined {
    return this.#localCountersOf(counter).get(key);
  }

  delete(localCounter: LocalCounter): void {
    const { name, localCounters } = this.#groupFor(localCounter.counter);
    if (localCounters.get(localCounter.key) !== localCounter) return;
    localCounters.delete(localCounter.key);
    this.#all.remove(localCounter.place);
    if (localCounters.size === 0) this.#groups.delete(name);
  }

  /** All local counters, the oldest first. During iteration only the current one may be deleted. */
  *[Symbol.iterator](): IterableIterator<LocalCounter> {
    for (const place of this.#all.places()) yield this.#all.at(place);
  }

  #localCountersOf(counter: Counter): Map<string, LocalCounter> {
    if (counter !== this.#lastCounter || this.#lastGroup === undefined) {
      this.#lastGroup = this.#groupFor(counter);
      this.#lastCounter = counter;
    }
    return this.#lastGroup.localCounters;
  }

  #groupFor(counter: Counter): Group {
    const known = this.#groupOf.get(counter);
    if (known !== undefined) return known;
    mustBeEventual(counter.limit);
    const { scope, part, limit } = counter;
    const name = JSON.stringify([scope, part, limit.algorithm]);
    const group = this.#groups.get(name) ?? { name, localCounters: new Map() };
    this.#groupOf.set(counter, group);
    return group;
  }

  #add(counter: Counter, key: string): LocalCounter {
    if (this.size >= this.#keysMax) this.#evictOne();
    const group = this.#register(counter);
    const known = group.localCounters.get(key);
    if (known !== undefined) return known;
    const localCounter = new LocalCounter(counter, key);
    group.localCounters.set(key, localCounter);
    localCounter.place = this.#all.add(localCounter);
    return localCounter;
  }

  /** The group that is listed under the counter's name: it may be another since it was empty. */
  #register(counter: Counter): Group {
    const own = this.#groupFor(counter);
    const listed = this.#groups.get(own.name) ?? own;
    this.#groups.set(own.name, listed);
    this.#groupOf.set(counter, listed);
    this.#lastCounter = undefined;
    return listed;
  }

  #evictOne(): void {
    let least: LocalCounter | undefined;
    let left = COMPARED_MAX;
    for (const localCounter of this) {
      if (least === undefined || shareToSend(localCounter) < shareToSend(least))
        least = localCounter;
      left--;
      if (left === 0) break;
    }
    if (least === undefined) return;
    this.#unitsEvicted += Math.max(0, least.deltaUnits);
    this.delete(least);
  }
}

function shareToSend({ deltaUnits, counter }: LocalCounter): number {
  return deltaUnits / counter.limit.capacity;
}

/** Permits are released by their holders, and a shaping bucket is one queue: neither can be synced afterwards. */
function mustBeEventual(limit: Limit): void {
  if (isLeasable(limit)) return;
  throw new SluiceError(
    "SLUICE_NOT_LEASABLE",
    `consistency "eventual" does not support ${limit.algorithm}`,
  );
}
