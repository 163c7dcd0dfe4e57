// Requests that a lease admits and another rule then refuses, under random traces: several holders over
// one store, answers of the other rule that come immediately or long after the lease has ended, and calls
// that arrive in any order. Nothing fails here, so at the end every unit that was not spent has to be
// home: what is in use is what was kept. A failure names its trace, which runs again alone.

import { describe, expect, it } from "vitest";
import { settled, Wire } from "../../../test/wire.js";
import {
  fixedWindow,
  type Limit,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { memoryStore } from "../memory/memory-store.js";
import type { ChargeReceipt, Counter, Outcome } from "../store.js";
import { type LeasedStore, leased } from "./leased.js";

const TRACES = 60;
const STEPS = 150;
const START_MS = Date.UTC(2026, 0, 1, 1);
const DAY_MS = 86_400_000;

/** Limits that refill nothing while a trace runs. */
const limits: Record<string, (limit: number) => Limit> = {
  "token bucket": (capacity) =>
    tokenBucket({ capacity, refill: { amount: 1, everyMs: 30 * DAY_MS } }),
  "fixed window": (limit) => fixedWindow({ limit, windowMs: DAY_MS }),
  "fixed window that starts with the first request": (limit) =>
    fixedWindow({ limit, windowMs: DAY_MS, align: "first" }),
  "calendar quota": (limit) => quota({ limit, period: "day" }),
  "sliding counter": (limit) => slidingWindowCounter({ limit, windowMs: DAY_MS }),
  "sliding log": (limit) => slidingWindowLog({ limit, windowMs: DAY_MS }),
};

interface Holder {
  readonly store: LeasedStore;
  readonly wire: Wire;
}

/** A request that waits for the other rule. */
interface Waiting {
  readonly holder: Holder;
  readonly receipts: readonly ChargeReceipt[];
  readonly cost: number;
}

class Trace {
  readonly #random: SeededRandom;
  readonly #clock = new ManualClock(START_MS);
  readonly #shared = memoryStore({ keysMax: 100 });
  readonly #counter: Counter;
  readonly #holders: readonly Holder[];
  readonly #waiting: Waiting[] = [];
  readonly #leaseMs: number;
  kept = 0;
  refused = 0;

  constructor(name: string, limit: Limit) {
    this.#random = new SeededRandom(name);
    this.#counter = { scope: "trace", part: 0, limit };
    this.#leaseMs = this.#random.pick([40, 200, 1000]);
    this.#holders = Array.from({ length: this.#random.between(1, 3) }, () => this.#join());
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#step();
      await settled();
    }
    await this.#comeHome();
  }

  /** What is in use in the store itself. Logs count there for longer, under other numbers. */
  get used(): number {
    const charge = { counter: this.#counter, key: "key", cost: 0, nowMs: this.#clock.now() };
    const observer = leased(this.#shared, { clock: this.#clock, leaseMs: this.#leaseMs });
    const [{ limit, remaining }] = observer.peek([charge]) as Outcome["verdicts"];
    return limit - remaining;
  }

  /** Units that came back when their receipt had been presented, because another request needed the rest. */
  get lost(): number {
    return this.#holders.reduce((sum, { store }) => sum + store.stats.unitsExpired, 0);
  }

  #join(): Holder {
    const wire = new Wire(this.#shared, this.#clock);
    const options = { clock: this.#clock, leaseMs: this.#leaseMs, holders: 2, warmAfter: 1 };
    return { wire, store: leased(wire, options) };
  }

  #step(): void {
    const random = this.#random;
    const draw = random.between(0, 99);
    if (draw < 35) for (let n = random.between(1, 8); n > 0; n--) this.#ask();
    else if (draw < 65) this.#deliverSome(random.pick(this.#holders).wire);
    else if (draw < 85) for (let n = random.between(1, 8); n > 0; n--) this.#answer();
    else this.#clock.advance(random.between(0, this.#leaseMs / 2));
  }

  #ask(): void {
    const holder = this.#random.pick(this.#holders);
    const cost = this.#random.pick([1, 1, 1, 2, 5]);
    const nowMs = this.#clock.now();
    if (this.#random.chance(0.2)) {
      const verdict = holder.store.decideOne(this.#counter, "key", cost, nowMs);
      Promise.resolve(verdict).then(({ allowed }) => {
        if (allowed) this.kept += cost;
      });
      return;
    }
    const charges = [{ counter: this.#counter, key: "key", cost, nowMs }];
    const count = ({ allowed, receipts }: Outcome) => {
      if (allowed) this.#waiting.push({ holder, receipts, cost });
    };
    const outcome = holder.store.decide(charges, { hold: "briefly" });
    if (outcome instanceof Promise) outcome.then(count);
    else count(outcome);
  }

  /** The other rule refuses the request, or lets it go on. */
  #answer(): void {
    if (this.#waiting.length === 0) return;
    const at = this.#random.between(0, this.#waiting.length - 1);
    const [{ holder, receipts, cost }] = this.#waiting.splice(at, 1);
    if (this.#random.chance(0.2)) {
      this.kept += cost;
      for (const receipt of receipts) holder.store.keep(receipt);
      return;
    }
    this.refused += cost;
    const nowMs = this.#clock.now();
    holder.store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
  }

  #deliverSome({ calls }: Wire): void {
    for (let n = this.#random.between(1, 8); n > 0 && calls.length > 0; n--) {
      const [call] = calls.splice(this.#random.between(0, calls.length - 1), 1);
      call.execute()();
    }
  }

  async #comeHome(): Promise<void> {
    for (let turn = 0; turn < 40; turn++) {
      for (const { wire } of this.#holders) wire.deliverAll();
      await settled();
      while (this.#waiting.length > 0) this.#answer();
      this.#clock.advance(this.#leaseMs / 8);
    }
  }
}

describe("requests that another rule refuses after a lease admitted them", () => {
  it.each(Object.keys(limits))("cost nothing of a %s, whenever they are refused", async (name) => {
    let refused = 0;
    for (let number = 0; number < TRACES; number++) {
      const trace = new Trace(`${name} ${number}`, limits[name](100_000));
      await trace.run();
      expect({ number, used: trace.used, lost: trace.lost }).toEqual({
        number,
        used: trace.kept,
        lost: 0,
      });
      refused += trace.refused;
    }
    expect(refused).toBeGreaterThan(TRACES * 50);
  });

  it.each(Object.keys(limits))("cost little of a %s that is nearly used up", async (name) => {
    let lost = 0;
    let refused = 0;
    for (let number = 0; number < TRACES; number++) {
      const trace = new Trace(`${name} scarce ${number}`, limits[name](60));
      await trace.run();
      expect({ number, used: trace.used }).toEqual({ number, used: trace.kept + trace.lost });
      lost += trace.lost;
      refused += trace.refused;
    }
    // A request that needs the rest of a lease takes it home, and what is out of it at that moment
    // stays spent. No law says how often: one to two of a hundred were seen, more is a regression.
    expect(lost).toBeLessThanOrEqual(refused / 20);
  });
});
