// Leases under random traces: several holders over one store, requests of one charge or of two, some
// refused elsewhere or refunded in part, calls that arrive in any order or lose their replies, and
// holders that vanish with what they hold. Whatever happens, no more is admitted than was promised. A
// failure names its trace, which runs again alone.

import { describe, expect, it } from "vitest";
import { timesFactor } from "../../../test/traces.js";
import { type Call, settled, Wire } from "../../../test/wire.js";
import type { Verdict } from "../../base/decision.js";
import {
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { type MemoryStore, memoryStore } from "../memory/memory-store.js";
import type { ChargeReceipt, Counter, Outcome } from "../store.js";
import { type LeasedStore, leased } from "./leased.js";

const TRACES = timesFactor(120);
const STEPS = 120;
const START_MS = Date.UTC(2024, 1, 29, 23, 59, 58);

/** Units that were admitted and not refunded, and when. */
interface Admission {
  readonly atMs: number;
  cost: number;
}

/** Receipts that a request got, and what it was admitted with. */
interface Reserved {
  readonly holder: Holder;
  readonly receipts: readonly ChargeReceipt[];
  readonly admissions: readonly Admission[];
}

/** What is promised of all admissions of a trace; returns what was broken. */
type Promised = (admitted: readonly Admission[], limit: Limit, leaseMs: number) => string[];

interface Kind {
  draw(random: SeededRandom): Limit;
  promised: Promised;
}

const kinds: Record<string, Kind> = {
  "token bucket": {
    draw: (random) =>
      tokenBucket({
        capacity: random.pick([4, 40, 200]),
        refill: { amount: random.between(1, 5), everyMs: random.pick([50, 100, 1000]) },
      }),
    promised: withinBucket,
  },
  meter: {
    draw: (random) =>
      leakyBucket({
        ratePerSecond: random.pick([1, 10, 40]),
        queueSize: random.pick([3, 39, 199]),
        mode: "meter",
      }),
    promised: withinBucket,
  },
  "fixed window": {
    draw: (random) =>
      fixedWindow({ limit: random.pick([5, 40, 200]), windowMs: random.pick([100, 1000, 5000]) }),
    promised: (admitted, limit) => withinWindows(admitted, limit, (limit as Windowed).windowMs),
  },
  "fixed window that starts with the first request": {
    draw: (random) =>
      fixedWindow({
        limit: random.pick([5, 40, 200]),
        windowMs: random.pick([100, 1000, 5000]),
        align: "first",
      }),
    promised: withinDisjointWindows,
  },
  "calendar quota": {
    draw: (random) => quota({ limit: random.pick([5, 40, 200]), period: "day" }),
    promised: (admitted, limit) => withinWindows(admitted, limit, 86_400_000),
  },
  "sliding counter": {
    draw: (random) =>
      slidingWindowCounter({
        limit: random.pick([5, 40, 200]),
        windowMs: random.pick([100, 1000, 5000]),
      }),
    promised: withinCounter,
  },
  "sliding log": {
    draw: (random) =>
      slidingWindowLog({
        limit: random.pick([5, 40, 200]),
        windowMs: random.pick([100, 1000, 5000]),
      }),
    promised: withinLog,
  },
};

type Windowed = Limit & { readonly windowMs: number };

describe("leases of several holders that come, vanish and lose replies", () => {
  it.each(Object.keys(kinds))("never admit more than a %s promises", async (name) => {
    let decided = 0;
    for (let number = 0; number < TRACES; number++) {
      const trace = new Trace(`${name} ${number}`, kinds[name]);
      await trace.run();
      decided += trace.leasedDecisions;
    }
    // Traces without leases would show nothing.
    expect(decided).toBeGreaterThan(TRACES * 3);
  });
});

interface Holder {
  readonly clock: ManualClock;
  readonly store: LeasedStore;
  readonly wire: Wire;
}

class Trace {
  readonly #name: string;
  readonly #kind: Kind;
  readonly #random: SeededRandom;
  readonly #counters: readonly Counter[];
  readonly #leaseMs: number;
  readonly #clock = new ManualClock(START_MS);
  readonly #shared: MemoryStore = memoryStore({ keysMax: 100 });
  readonly #ledger = { debited: 0, returned: 0 };
  readonly #admitted: readonly Admission[][] = [[], []];
  readonly #reserved: Reserved[] = [];
  readonly #lateReplies: (() => void)[] = [];
  readonly #gone: Holder[] = [];
  #holders: Holder[];

  constructor(name: string, kind: Kind) {
    this.#name = name;
    this.#kind = kind;
    this.#random = new SeededRandom(name);
    this.#counters = [0, 1].map((part) => {
      return { scope: "trace", part, limit: kind.draw(this.#random) };
    });
    this.#leaseMs = this.#random.pick([40, 200, 1000]);
    this.#holders = Array.from({ length: this.#random.between(1, 3) }, () => this.#join());
  }

  get leasedDecisions(): number {
    return this.#everybody().reduce((sum, { store }) => sum + store.stats.leasedDecisions, 0);
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#step();
      await settled();
    }
    for (const { wire } of this.#everybody()) wire.deliverAll();
    await settled();
    this.#check();
  }

  #step(): void {
    const random = this.#random;
    const draw = random.between(0, 99);
    if (draw < 40) this.#askOften(random.pick(this.#holders));
    else if (draw < 78) this.#deliverSome(random.pick(this.#everybody()).wire);
    else if (draw < 82) this.#lateReplies.shift()?.();
    else if (draw < 88) this.#refundSome();
    else if (draw < 99) this.#pass();
    else this.#crash();
  }

  #askOften(holder: Holder): void {
    const random = this.#random;
    for (let n = random.between(1, 6); n > 0; n--) {
      if (random.chance(0.5)) this.#ask(holder, random.pick([1, 1, 1, 2, 5]));
      else this.#askForBoth(holder, random.pick([false, "briefly"] as const));
    }
  }

  #ask(holder: Holder, cost: number): void {
    const { clock, store } = holder;
    const verdict = store.decideOne(this.#counters[0], "key", cost, clock.now());
    const count = ({ allowed }: Verdict) => this.#count(holder, allowed ? [cost] : []);
    if (verdict instanceof Promise) verdict.then(count, () => {});
    else count(verdict);
  }

  #askForBoth(holder: Holder, hold: false | "briefly"): void {
    const { clock, store } = holder;
    const costs = [this.#random.pick([1, 1, 2, 5]), 1];
    const charges = costs.map((cost, i) => ({
      counter: this.#counters[i],
      key: "key",
      cost,
      nowMs: clock.now(),
    }));
    const outcome = store.decide(charges, { hold });
    const count = ({ allowed, receipts }: Outcome) => {
      const admissions = this.#count(holder, allowed ? costs : []);
      if (admissions.length > 0) this.#reserved.push({ holder, receipts, admissions });
    };
    if (outcome instanceof Promise) outcome.then(count, () => {});
    else count(outcome);
  }

  /** Counts units that were admitted, the first of part 0. */
  #count(holder: Holder, costs: readonly number[]): readonly Admission[] {
    // A process that has vanished admits no more requests.
    if (!this.#holders.includes(holder)) return [];
    return costs.map((cost, part) => {
      const admission = { atMs: this.#clock.now(), cost };
      this.#admitted[part].push(admission);
      return admission;
    });
  }

  /** A request turns out not to need all of its units, immediately or later; some say so twice. */
  #refundSome(): void {
    const random = this.#random;
    const { length } = this.#reserved;
    if (length === 0) return;
    const [reserved] = this.#reserved.splice(random.chance(0.7) ? length - 1 : 0, 1);
    const { holder, receipts, admissions } = reserved;
    if (!this.#holders.includes(holder)) return;
    // Once notified that it continues, a lease gets nothing back for it, whatever is said later.
    const isKept = random.chance(0.2);
    if (isKept) for (const receipt of receipts) holder.store.keep(receipt);
    if (isKept && receipts.some(({ proof }) => isOfStore(proof))) return;
    const isRefused = random.chance(0.3);
    const settlings = receipts.map((receipt, i) => {
      const kept = isRefused ? 0 : random.between(0, receipt.cost);
      if (isKept) return { receipt, kept, nowMs: holder.clock.now() };
      admissions[i].cost = kept;
      return { receipt, kept, nowMs: holder.clock.now() };
    });
    const callsBefore = holder.wire.calls.length;
    const settle = () => {
      const settled = holder.store.settle(settlings);
      if (settled instanceof Promise) settled.catch(() => {});
    };
    settle();
    // Only leases are asked twice: the ledger of the wire adds up what it is given.
    if (holder.wire.calls.length === callsBefore) settle();
  }

  /** Calls arrive in any order. */
  #deliverSome({ calls }: Wire): void {
    for (let n = this.#random.between(1, 8); n > 0 && calls.length > 0; n--) {
      const [call] = calls.splice(this.#random.between(0, calls.length - 1), 1);
      this.#deliver(call);
    }
  }

  /** A call arrives, or is cut before or after it was executed. The reply of a lease may lag. */
  #deliver(call: Call): void {
    const random = this.#random;
    const fate = random.between(0, 99);
    if (fate < 2) {
      call.fail();
      return;
    }
    const reply = call.execute();
    if (fate < 5) call.fail();
    else if (fate < 30 && call.isLease) this.#lateReplies.push(reply);
    else reply();
  }

  #pass(): void {
    const random = this.#random;
    const { limit } = random.pick(this.#counters);
    const windowMs = "windowMs" in limit ? limit.windowMs : 1000;
    const toBorderMs = windowMs - (this.#clock.now() % windowMs);
    const ms = random.pick([1, 5, random.between(0, this.#leaseMs), toBorderMs, toBorderMs - 1]);
    this.#clock.advance(ms);
    for (const { clock } of this.#holders) clock.advance(ms);
  }

  /** A holder vanishes with its leases; what it has sent may still arrive. Another takes its place. */
  #crash(): void {
    const gone = this.#random.pick(this.#holders);
    this.#gone.push(gone);
    this.#holders = [...this.#holders.filter((holder) => holder !== gone), this.#join()];
  }

  #join(): Holder {
    // The clocks of processes differ from each other, and from the store's.
    const clock = new ManualClock(this.#clock.now() + this.#random.between(0, 5_000));
    const wire = new Wire(this.#shared, this.#clock, this.#ledger);
    const holders = this.#random.pick([1, 1, 2]);
    const store = leased(wire, { clock, leaseMs: this.#leaseMs, holders, warmAfter: 1 });
    return { clock, store, wire };
  }

  #everybody(): readonly Holder[] {
    return [...this.#holders, ...this.#gone];
  }

  #check(): void {
    const broken = this.#counters.flatMap(({ limit }, part) =>
      this.#kind.promised(this.#admitted[part], limit, this.#leaseMs),
    );
    const admitted = this.#admitted.flat().reduce((sum, { cost }) => sum + cost, 0);
    const { debited, returned } = this.#ledger;
    if (admitted > debited - returned) broken.push(`${admitted} of ${debited} - ${returned}`);
    for (const { store } of this.#everybody()) {
      const { unitsLeased, unitsSpent, unitsReturned, unitsExpired } = store.stats;
      if (unitsSpent < 0 || unitsSpent + unitsReturned + unitsExpired > unitsLeased) {
        broken.push(JSON.stringify(store.stats));
      }
    }
    if (broken.length > 0) {
      throw new Error(`trace "${this.#name}": ${broken[0]}; ${JSON.stringify(this.#counters)}`);
    }
  }
}

/** Whether the store itself gave the receipt, which it takes back however often it was asked to keep it. */
function isOfStore(proof: unknown): boolean {
  return typeof (proof as { sequence?: unknown }).sequence === "number";
}

/** Any interval T admits at most capacity + rate × (T + leaseMs). */
function withinBucket(admitted: readonly Admission[], limit: Limit, leaseMs: number): string[] {
  const { ticksPerMs, ticksPerUnit } = limit as Limit & {
    ticksPerMs: number;
    ticksPerUnit: number;
  };
  const broken: string[] = [];
  for (const [i, first] of admitted.entries()) {
    let units = 0;
    for (const { atMs, cost } of admitted.slice(i)) {
      units += cost;
      const most = limit.capacity + ((atMs - first.atMs + leaseMs) * ticksPerMs) / ticksPerUnit;
      if (units > most) broken.push(`${units} in ${atMs - first.atMs} ms, at most ${most}`);
    }
  }
  return broken;
}

/** Each window admits at most the limit. */
function withinWindows(admitted: readonly Admission[], limit: Limit, windowMs: number): string[] {
  const used = new Map<number, number>();
  for (const { atMs, cost } of admitted) {
    const window = Math.floor(atMs / windowMs);
    used.set(window, (used.get(window) ?? 0) + cost);
  }
  return [...used]
    .filter(([, units]) => units > limit.capacity)
    .map(([window, units]) => `${units} of ${limit.capacity} in window ${window}`);
}

/** Windows that start at any time and don't overlap admit at most the limit each. */
function withinDisjointWindows(admitted: readonly Admission[], limit: Limit): string[] {
  const { windowMs } = limit as Windowed;
  const broken: string[] = [];
  for (const [i, first] of admitted.entries()) {
    let units = 0;
    for (const { atMs, cost } of admitted.slice(i)) {
      units += cost;
      const windows = Math.floor((atMs - first.atMs) / windowMs) + 2;
      if (units > windows * limit.capacity) broken.push(`${units} in ${windows} windows`);
    }
  }
  return broken;
}

/** What was admitted is what a strict counter would have let pass. */
function withinCounter(admitted: readonly Admission[], limit: Limit): string[] {
  const { windowMs } = limit as Windowed;
  const used = new Map<number, number>();
  const broken: string[] = [];
  for (const { atMs, cost } of admitted) {
    const window = Math.floor(atMs / windowMs);
    const current = (used.get(window) ?? 0) + cost;
    used.set(window, current);
    const leftMs = windowMs - (atMs % windowMs);
    const weighted = Math.ceil(((used.get(window - 1) ?? 0) * leftMs) / windowMs);
    if (weighted + current > limit.capacity) broken.push(`${weighted} + ${current} at ${atMs}`);
  }
  return broken;
}

/** Any rolling window admits at most the limit; what is exactly windowMs old is out. */
function withinLog(admitted: readonly Admission[], limit: Limit): string[] {
  const { windowMs } = limit as Windowed;
  return admitted.flatMap(({ atMs }) => {
    const units = admitted
      .filter((other) => other.atMs <= atMs && other.atMs > atMs - windowMs)
      .reduce((sum, { cost }) => sum + cost, 0);
    return units > limit.capacity ? [`${units} of ${limit.capacity} up to ${atMs}`] : [];
  });
}
