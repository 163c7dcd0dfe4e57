// The keys that a process merges with other regions: found by counter and key, bounded in number, and dropped when their
// windows have ended everywhere. Those with something to announce are listed apart.

import { LinkedList } from "../../../base/linked-list.js";
import type { Counter } from "../../store.js";
import { registerLimit } from "./merge-windows.js";
import { MergedKey } from "./merged-key.js";
import type { PeerRegion } from "./peer-region.js";
import type { StoreClock } from "./store-clock.js";

/** How many keys are looked at in one sweep. */
const SWEPT_MAX = 256;
/** How many keys are active at most after some were woken, and how many of those that wait are woken in any case. */
const WOKEN = { max: 2_000, min: 500 } as const;
/** How long after its end a window may still be the current one of another region: more than clocks differ. */
const SKEW_MS_MAX = 300_000;
/** How long a key without windows is kept after its last use: until its registers have ended. */
const UNUSED_MS_MAX = 1_200_000;

/** What the keys belong to. */
export interface MergedKeysSetup {
  readonly region: string;
  readonly keysMax: number;
  readonly peers: readonly PeerRegion[];
}

/** The keys of one counter, and where other regions count what this process admits of them. */
interface Group {
  readonly counter: Counter;
  register: Counter;
  readonly keys: Map<string, MergedKey>;
}

/** All keys of a process. */
export class MergedKeys {
  /** Keys with something to announce, or asked for a moment ago. */
  readonly active = new Set<MergedKey>();
  readonly #setup: MergedKeysSetup;
  /** Names the registers of this process: no other process writes them. */
  readonly #process: string = crypto.randomUUID().slice(0, 13);
  readonly #groups = new WeakMap<Counter, Group>();
  readonly #all = new LinkedList<MergedKey>();
  #lastGroup: Group | undefined;
  #registers = 0;
  #unitsEvicted = 0;

  constructor(setup: MergedKeysSetup) {
    this.#setup = setup;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Units that were never announced, because their key had to go. */
  get unitsEvicted(): number {
    return this.#unitsEvicted;
  }

  /** The key under that counter; made if it is not known. */
  of(counter: Counter, key: string): MergedKey {
    const group = this.#groupOf(counter);
    return group.keys.get(key) ?? this.#add(group, key);
  }

  find(counter: Counter, key: string): MergedKey | undefined {
    return this.#groups.get(counter)?.keys.get(key);
  }

  activate(key: MergedKey): void {
    this.active.add(key);
    this.#all.renew(key.place);
  }

  /** What waited for a region that is back has to be announced: some keys at a time, because requests wait meanwhile. */
  wake(nowMs: number): void {
    for (const { isCutOff, waiting } of this.#setup.peers) {
      if (isCutOff) continue;
      let left = Math.max(WOKEN.min, WOKEN.max - this.active.size);
      for (const key of waiting) {
        if (left-- === 0) break;
        waiting.delete(key);
        if (!key.isActive) key.start(nowMs);
        this.active.add(key);
      }
    }
  }

  /** Lets go of what every region knows that can be reached, and of keys whose windows have ended everywhere. */
  sweep(nowMs: number, clock: StoreClock): void {
    for (const key of this.active) if (key.isIdle) this.#rest(key);
    for (let left = Math.min(SWEPT_MAX, this.#all.size); left > 0; left--) {
      const key = this.#all.at(this.#all.oldest);
      const isOver = key.hasWindows
        ? key.dropBefore(clock.at(nowMs) - SKEW_MS_MAX)
        : nowMs - key.usedAtMs > UNUSED_MS_MAX && !this.#isAwaited(key);
      if (isOver && !key.isActive) this.#remove(key);
      else this.#all.renew(key.place);
    }
  }

  /** Lets go of an idle key. If a region is cut off that does not know all of it, it waits for that region. */
  #rest(key: MergedKey): void {
    const behind = this.#setup.peers.filter((peer) => !peer.hasAllOf(key));
    if (!behind.every((peer) => peer.isCutOff)) return;
    for (const peer of behind) peer.waiting.add(key);
    // Nothing is announced ahead of a key that no caller asks for.
    if (behind.length > 0) key.demandPerMs = 0;
    key.isActive = false;
    this.active.delete(key);
  }

  /** Whether a region that is cut off has to hear of it. */
  #isAwaited(key: MergedKey): boolean {
    return this.#setup.peers.some(({ waiting }) => waiting.has(key));
  }

  #groupOf(counter: Counter): Group {
    if (this.#lastGroup?.counter === counter) return this.#lastGroup;
    const known = this.#groups.get(counter);
    const group = known ?? { counter, register: this.#newRegister(counter), keys: new Map() };
    this.#groups.set(counter, group);
    this.#lastGroup = group;
    return group;
  }

  #newRegister({ scope, part, limit }: Counter): Counter {
    const name = `${scope}~${this.#setup.region}~${this.#process}~${this.#registers++}`;
    return { scope: name, part, limit: registerLimit(limit) };
  }

  #add(group: Group, name: string): MergedKey {
    if (this.size >= this.#setup.keysMax) this.#evict();
    const key = new MergedKey(group.counter, name, group.register, this.#setup.peers.length);
    group.keys.set(name, key);
    key.place = this.#all.add(key);
    return key;
  }

  /** The key that was used longest ago, of those looked at. Its registers stay as they are, so another one gets new ones. */
  #evict(): void {
    const key = this.#all.at(this.#all.oldest);
    const unknown = this.#setup.peers.map((peer) => peer.unknownUnitsOf(key));
    this.#unitsEvicted += Math.max(0, ...unknown);
    const group = this.#groupOf(key.counter);
    group.register = this.#newRegister(key.counter);
    this.#remove(key);
  }

  #remove(key: MergedKey): void {
    this.#groups.get(key.counter)?.keys.delete(key.key);
    this.active.delete(key);
    for (const { waiting } of this.#setup.peers) waiting.delete(key);
    this.#all.remove(key.place);
  }
}
