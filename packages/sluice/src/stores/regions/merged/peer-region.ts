// Another region, as one process announces its counts to it. What the process admitted is charged to the region's own
// counter, and in the same call to a register that no other process writes; the answer says what the register has. So a call
// that was lost, or arrived late or twice, shows in the next answer, and is corrected: nothing stays counted double.

import type { Clock } from "../../../base/clock.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Charge, CounterStatus, Store } from "../../store.js";
import { type Announcement, announcementOf } from "./announcement.js";
import type { MergedKey } from "./merged-key.js";
import { BASE_UNITS, learnRegister, type Register } from "./register.js";
import { clockCharge, StoreClock } from "./store-clock.js";

/** The most keys in one call. */
const KEYS_A_CALL = 500;

/** How often the register of a key that is asked for is read at least: it may have been lost, or charged late. */
const READ_MS = 1_000;

/** What an announcement is made with. */
export interface PeerSetup {
  readonly clock: Clock;
  /** The clock of the own region's store. */
  readonly own: StoreClock;
  readonly syncMs: number;
  readonly regions: number;
  /** How many processes of a region share what is left there. */
  readonly nodes: number;
}

/** How the exchange with one region goes. */
export interface PeerStats {
  readonly region: string;
  /** Calls that announced counts, of at most 500 keys each. */
  readonly exchanges: number;
  /** Those of them that failed or had no answer in time. */
  readonly failures: number;
  /** Units announced so far. */
  readonly unitsSent: number;
  /** How old the latest counts are that the region has of this process, in milliseconds. */
  readonly lagMs: number;
  /** The most units by which one of its counters was seen above its limit. */
  readonly overshootUnitsMax: number;
}

/** How much of what was sent a region has counted where it was meant to be. */
type Arrival = "all" | "some" | "unknown";

interface Sending extends Announcement {
  readonly key: MergedKey;
  /** Whether it says all that was admitted: after a call without an answer, it only reads. */
  readonly isWhole: boolean;
  /** What has to be charged, or below zero refunded. */
  readonly deltaUnits: number;
  /** What the register is charged besides. */
  readonly baseUnits: number;
}

/** Another region. */
export class PeerRegion {
  readonly region: string;
  readonly #index: number;
  readonly #store: Store;
  readonly #setup: PeerSetup;
  readonly #clock = new StoreClock();
  readonly #counts = { exchanges: 0, failures: 0, unitsSent: 0, overshootUnitsMax: 0 };
  #busy: MaybePromise<void> | undefined;
  /** Whether the latest exchange failed; before the first, whether it can be reached is not known. */
  #isAway = true;
  /** Keys that wait until the region is back. While it is not, only as many are looked at as a call can have. */
  readonly waiting = new Set<MergedKey>();
  /** Everything that was admitted before then has arrived; undefined if nothing has waited since. */
  #waitingSinceMs: number | undefined;

  /** @param index - Its place among the registers of each key. */
  constructor(region: string, index: number, store: Store, setup: PeerSetup) {
    this.region = region;
    this.#index = index;
    this.#store = store;
    this.#setup = setup;
  }

  get stats(): PeerStats {
    const nowMs = this.#setup.clock.now();
    const sinceMs = this.#waitingSinceMs;
    const lagMs = sinceMs === undefined ? this.#clock.roundTripMs / 2 : nowMs - sinceMs;
    return { region: this.region, ...this.#counts, lagMs };
  }

  /** The region's store. */
  get store(): Store {
    return this.#store;
  }

  /** Whether it was asked and did not answer. */
  get isCutOff(): boolean {
    return this.#isAway && this.#counts.failures > 0;
  }

  /** Whether the region has all that was admitted of a key, and nothing that was not. */
  hasAllOf(key: MergedKey): boolean {
    // Which window it counts in is not known before its first answer.
    const register = key.registers[this.#index];
    if (!this.#clock.isKnown || register.isAwaited) return false;
    const nowMs = this.#setup.clock.now();
    const { aheadUnits } = this.#announcementOf(key, register, nowMs);
    return aheadUnits === 0 && !this.#isBehind(key, nowMs) && !key.hasLater(this.#arrivalMs(nowMs));
  }

  /** How long it takes until the region knows what is announced next, and answers. */
  get horizonMs(): number {
    const { roundTripMs } = this.#clock;
    // One exchange is under way at a time, so the next one starts after its answer.
    return Math.max(this.#setup.syncMs, roundTripMs) + roundTripMs / 2;
  }

  /**
   * The units of a window that the region has charged for this process, what was announced ahead included. Undefined if
   * the region does not count in that window, or can't be reached, and so has no say.
   */
  chargedUnitsOf(key: MergedKey, endMs: number, nowMs: number): number | undefined {
    if (this.#isAway || key.endMsAt(this.#clock.at(nowMs)) !== endMs) return undefined;
    const register = key.registers[this.#index];
    return register.endMs === endMs ? register.knownUnits : 0;
  }

  /** Units admitted of a key that the region does not know of. */
  unknownUnitsOf(key: MergedKey): number {
    const register = key.registers[this.#index];
    const { units, aheadUnits } = this.#announcementOf(key, register, this.#setup.clock.now());
    return units - aheadUnits - register.knownUnits;
  }

  /** Announces what has changed of these keys, unless an exchange is under way. Resolves at its end; never rejects. */
  announce(keys: Iterable<MergedKey>): MaybePromise<void> {
    if (this.#busy !== undefined) return this.#busy;
    const nowMs = this.#setup.clock.now();
    const { due, isAll } = this.#dueOf(keys, nowMs);
    if (due.length === 0) {
      this.#waitingSinceMs = undefined;
      return undefined;
    }
    this.#waitingSinceMs ??= nowMs;
    const done = andThen(this.#announceFrom(due, 0), (arrival) => {
      // Only now the region has everything that was admitted before the first of these calls.
      if (arrival === "all" && isAll) this.#waitingSinceMs = nowMs;
    });
    if (!isThenable(done)) return undefined;
    this.#busy = done.finally(() => {
      this.#busy = undefined;
    });
    return this.#busy;
  }

  /** The keys that have to be announced: all of them, or while the region is cut off as many as one call can have. */
  #dueOf(keys: Iterable<MergedKey>, nowMs: number): { due: MergedKey[]; isAll: boolean } {
    const due: MergedKey[] = [];
    if (!this.isCutOff) {
      for (const key of keys) if (this.#isDue(key, nowMs)) due.push(key);
      return { due, isAll: this.waiting.size === 0 };
    }
    for (const some of [keys, this.waiting]) {
      for (const key of some) {
        if (due.length === KEYS_A_CALL) return { due, isAll: false };
        if (this.#isDue(key, nowMs)) due.push(key);
      }
    }
    return { due, isAll: true };
  }

  #isDue(key: MergedKey, nowMs: number): boolean {
    const { readAtMs } = key.registers[this.#index];
    return this.#isBehind(key, nowMs) || nowMs - readAtMs >= READ_MS;
  }

  /** Whether the region has to hear something of a key. */
  #isBehind(key: MergedKey, nowMs: number): boolean {
    const register = key.registers[this.#index];
    if (register.isUnsure) return true;
    const { units } = this.#announcementOf(key, register, nowMs);
    const known = this.#isOver(key, register, nowMs) ? 0 : register.knownUnits;
    return units !== known;
  }

  /** Whether the window of a register has ended, so that it has nothing. */
  #isOver(key: MergedKey, register: Register, nowMs: number): boolean {
    return key.hasWindows && register.endMs !== key.endMsAt(this.#arrivalMs(nowMs));
  }

  #announceFrom(
    keys: readonly MergedKey[],
    start: number,
    before: Arrival = "all",
  ): MaybePromise<Arrival> {
    if (start >= keys.length) return before;
    return andThen(this.#exchange(keys.slice(start, start + KEYS_A_CALL)), (arrival) => {
      // What is left waits for the next round if the region can't be reached.
      if (arrival === "unknown") return arrival;
      return this.#announceFrom(keys, start + KEYS_A_CALL, before === "all" ? arrival : before);
    });
  }

  #exchange(keys: readonly MergedKey[]): MaybePromise<Arrival> {
    const sentAtMs = this.#setup.clock.now();
    const sendings = keys.map((key) => this.#prepare(key, sentAtMs));
    const fail = (): Arrival => {
      this.#counts.failures++;
      this.#isAway = true;
      for (const { key, deltaUnits, baseUnits } of sendings) {
        const register = key.registers[this.#index];
        register.isAwaited = false;
        if (deltaUnits !== 0 || baseUnits !== 0) register.isUnsure = true;
      }
      return "unknown";
    };
    const learn = (statuses: readonly CounterStatus[]) => this.#learn(sendings, statuses, sentAtMs);
    this.#counts.exchanges++;
    try {
      const answer = this.#send(sendings, sentAtMs);
      return isThenable(answer) ? Promise.resolve(answer).then(learn, fail) : learn(answer);
    } catch {
      return fail();
    }
  }

  #prepare(key: MergedKey, nowMs: number): Sending {
    const register = key.registers[this.#index];
    if (this.#isOver(key, register, nowMs)) {
      register.endMs = key.endMsAt(this.#arrivalMs(nowMs));
      register.knownUnits = 0;
      register.hasBase = false;
      register.aheadUnits = 0;
      register.isUnsure = false;
    }
    const announcement = this.#announcementOf(key, register, nowMs);
    // After a call without an answer the register is read first, so that nothing is charged twice.
    const missing = register.isUnsure ? 0 : announcement.units - register.knownUnits;
    const deltaUnits = missing < 0 && !this.#mayRefund(key, register, nowMs) ? 0 : missing;
    // Never by a call that only reads: thousands of those without an answer would bring more bases than a double holds.
    const baseUnits = register.hasBase || missing === 0 ? 0 : BASE_UNITS;
    if (!register.isUnsure) register.sentUnits = announcement.units;
    register.isAwaited = true;
    return { ...announcement, key, deltaUnits, baseUnits, isWhole: !register.isUnsure };
  }

  /** Whether a refund reaches what it refunds: a register without its base has nothing to give, nor has the next window. */
  #mayRefund(key: MergedKey, { hasBase, endMs }: Register, nowMs: number): boolean {
    return hasBase && (!key.hasWindows || endMs - this.#arrivalMs(nowMs) > this.horizonMs);
  }

  /** Refunds and charges in the order in which they are sent; the answer is to the second. */
  #send(sendings: readonly Sending[], nowMs: number): MaybePromise<readonly CounterStatus[]> {
    const back = sendings.filter(({ deltaUnits }) => deltaUnits < 0);
    const refunds = back.flatMap(({ key, deltaUnits }) => toPair(key, -deltaUnits, 0, nowMs));
    const debits = sendings.flatMap(({ key, deltaUnits, baseUnits }) =>
      toPair(key, Math.max(0, deltaUnits), baseUnits, nowMs),
    );
    const refunded = refunds.length === 0 ? undefined : this.#store.refund(refunds);
    const charged = this.#store.debit([clockCharge(this.region, nowMs), ...debits]);
    if (!isThenable(refunded)) return charged;
    return Promise.all([charged, refunded]).then(([statuses]) => statuses);
  }

  #learn(
    sendings: readonly Sending[],
    [clock, ...statuses]: readonly CounterStatus[],
    sentAtMs: number,
  ): Arrival {
    const nowMs = this.#setup.clock.now();
    this.#isAway = false;
    this.#clock.learn(clock, sentAtMs, nowMs);
    // When the store answered, by its own clock.
    const atMs = this.#clock.at(sentAtMs + this.#clock.roundTripMs / 2);
    let arrival: Arrival = "all";
    for (const [i, sending] of sendings.entries()) {
      const [counter, { used }] = [statuses[2 * i], statuses[2 * i + 1]];
      const { key, aheadUnits, deltaUnits } = sending;
      this.#counts.unitsSent += Math.max(0, deltaUnits);
      const above = counter.used - counter.limit - aheadUnits;
      this.#counts.overshootUnitsMax = Math.max(this.#counts.overshootUnitsMax, above);
      const register = key.registers[this.#index];
      const meantMs = register.endMs;
      learnRegister(register, sending, { used, atMs });
      register.readAtMs = sentAtMs;
      // Until its clock is known, what is sent may be of a window that the region is not in.
      const isMissed = key.hasWindows && register.endMs !== meantMs;
      if (isMissed || !sending.isWhole) arrival = "some";
    }
    return arrival;
  }

  #announcementOf(key: MergedKey, register: Register, nowMs: number): Announcement {
    const { own, regions, nodes } = this.#setup;
    return announcementOf(key, register, {
      ownMs: own.at(nowMs),
      peerMs: this.#arrivalMs(nowMs),
      horizonMs: this.horizonMs,
      regions,
      nodes,
    });
  }

  #arrivalMs(nowMs: number): number {
    return this.#clock.at(nowMs + this.#clock.roundTripMs / 2);
  }
}

function toPair(key: MergedKey, cost: number, base: number, nowMs: number): readonly Charge[] {
  return [
    { counter: key.counter, key: key.key, cost, nowMs },
    { counter: key.register, key: key.key, cost: cost + base, nowMs },
  ];
}
