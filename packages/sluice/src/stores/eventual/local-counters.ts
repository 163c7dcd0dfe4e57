// The views of all keys that were asked for lately, by counter and key. There are at most `keysMax`;
// beyond that the one goes that has the least to tell.

import { SluiceError } from "../../base/errors.js";
import { LinkedList } from "../../base/linked-list.js";
import type { Limit } from "../../limits/limits.js";
import { isLeasable } from "../leased/leasable.js";
import type { Counter } from "../store.js";
import { View } from "./local-counter.js";

/** How many of the oldest views are compared when one has to go. */
const COMPARED_MAX = 8;

/** Views of the keys of one counter, whatever its numbers. */
interface Group {
  readonly name: string;
  readonly views: Map<string, View>;
}

/** A bounded collection of views. */
export class Views {
  readonly #keysMax: number;
  /** Groups that have views. */
  readonly #groups = new Map<string, Group>();
  readonly #groupOf = new WeakMap<Counter, Group>();
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastGroup: Group | undefined;
  readonly #all = new LinkedList<View>();
  #unitsGivenUp = 0;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Units that were never told, because their view had to go. */
  get unitsGivenUp(): number {
    return this.#unitsGivenUp;
  }

  /** The view of a key under the numbers of `counter`; made if there is none. */
  of(counter: Counter, key: string): View {
    const view = this.#viewsOf(counter).get(key);
    if (view === undefined) return this.#add(counter, key);
    view.counter = counter;
    return view;
  }

  /** The view of a key, if there is one. */
  find(counter: Counter, key: string): View | undefined {
    return this.#viewsOf(counter).get(key);
  }

  delete(view: View): void {
    const { name, views } = this.#groupFor(view.counter);
    if (views.get(view.key) !== view) return;
    views.delete(view.key);
    this.#all.remove(view.place);
    if (views.size === 0) this.#groups.delete(name);
  }

  /** All views, the oldest first. During iteration only the current one may be deleted. */
  *[Symbol.iterator](): IterableIterator<View> {
    for (const place of this.#all.places()) yield this.#all.at(place);
  }

  #viewsOf(counter: Counter): Map<string, View> {
    if (counter !== this.#lastCounter || this.#lastGroup === undefined) {
      this.#lastGroup = this.#groupFor(counter);
      this.#lastCounter = counter;
    }
    return this.#lastGroup.views;
  }

  #groupFor(counter: Counter): Group {
    const known = this.#groupOf.get(counter);
    if (known !== undefined) return known;
    mustBeSpendable(counter.limit);
    const { scope, part, limit } = counter;
    const name = JSON.stringify([scope, part, limit.algorithm]);
    const group = this.#groups.get(name) ?? { name, views: new Map() };
    this.#groupOf.set(counter, group);
    return group;
  }

  #add(counter: Counter, key: string): View {
    if (this.size >= this.#keysMax) this.#giveUpOne();
    const group = this.#register(counter);
    const known = group.views.get(key);
    if (known !== undefined) return known;
    const view = new View(counter, key);
    group.views.set(key, view);
    view.place = this.#all.add(view);
    return view;
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

  #giveUpOne(): void {
    let least: View | undefined;
    let left = COMPARED_MAX;
    for (const view of this) {
      if (least === undefined || shareToTell(view) < shareToTell(least)) least = view;
      left--;
      if (left === 0) break;
    }
    if (least === undefined) return;
    this.#unitsGivenUp += Math.max(0, least.deltaUnits);
    this.delete(least);
  }
}

function shareToTell({ deltaUnits, counter }: View): number {
  return deltaUnits / counter.limit.limit;
}

/** Permits are given back to who holds them, and a queue has one order: neither can be told later. */
function mustBeSpendable(limit: Limit): void {
  if (isLeasable(limit)) return;
  throw new SluiceError("SLUICE_NOT_LEASABLE", `eventual, got ${limit.algorithm}`);
}
