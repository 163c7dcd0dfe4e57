// Random traces of everything that can be done to an account, against a model that knows sums only, on both databases.
// A failure names its seed: set SEED to replay it alone.

import { type Charge, type ChargeReceipt, type Counter, quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { Ledger } from "./ledger.js";
import type { LedgerProof } from "./operations/settle.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const all = testDatabases();

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const RESERVATION_MS = 2 * DAY_MS;
const STEPS = 24;
const SEEDS_TOGETHER = 250;
const SEEDS = Number(process.env.SLUICE_LEDGER_SEEDS ?? 500);
const ONLY = process.env.SEED === undefined ? undefined : Number(process.env.SEED);

describe.each(all)("random traces on a ledger in $name", (databases) => {
  it(`are answered as by a model of sums, and verify (${SEEDS} seeds)`, async () => {
    const database = await databases.ready();
    const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [ONLY];
    for (let at = 0; at < seeds.length; at += SEEDS_TOGETHER) {
      // Traces that run together share transactions, as requests of different tenants do.
      const clock = new ManualClock(START_MS);
      const counters = new Map<string, Counter>();
      const findCounter = (_: string, key: string) => counters.get(key);
      const options = { clock, findCounter, reservationMs: RESERVATION_MS, sweepMs: 0 };
      const nodes = [1, 2].map((n) => new Ledger(database, { ...options, actor: `node-${n}` }));
      const traces = seeds
        .slice(at, at + SEEDS_TOGETHER)
        .map((seed) => new Trace(seed, { ledger: nodes[seed % 2] as Ledger, clock, counters }));
      for (let step = 0; step < STEPS; step++) {
        while ((await Promise.all(nodes.map(({ store }) => store.sweep()))).some((n) => n > 0));
        await Promise.all(traces.map((trace) => trace.step(step)));
        clock.advance(DAY_MS);
      }
      await Promise.all(traces.map((trace) => trace.end()));
      await Promise.all(nodes.map((node) => node.close()));
    }
    expect((await verifyLedger(database)).problems).toEqual([]);
  }, 3_600_000);
});

interface Held {
  readonly receipt: ChargeReceipt;
  readonly period: number;
  /** When a reservation expires; undefined for what does not. */
  readonly expiresAtMs: number | undefined;
}

/** What the account of one period comes to. */
interface Sums {
  granted: number;
  balance: number;
}

/** What traces share. */
interface World {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  readonly counters: Map<string, Counter>;
}

/** One account series under random verbs. */
class Trace {
  readonly #seed: number;
  readonly #clock: ManualClock;
  readonly #ledger: Ledger;
  readonly #key: string;
  readonly #random: () => number;
  readonly #periods = new Map<number, Sums>();
  readonly #counters: Map<string, Counter>;
  readonly #held: Held[] = [];
  readonly #log: string[] = [];
  #capacity: number;
  #count = 0;

  constructor(seed: number, { ledger, clock, counters }: World) {
    this.#seed = seed;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#counters = counters;
    this.#random = seeded(seed);
    this.#key = `tenant:${seed}`;
    this.#capacity = 10 + this.#below(90);
    this.#counters.set(this.#key, this.#counter);
  }

  async step(step: number): Promise<void> {
    const verbs = [
      this.#use,
      this.#use,
      this.#useAgain,
      this.#hold,
      this.#hold,
      this.#settle,
      this.#settle,
      this.#grant,
      this.#adjust,
      this.#changeQuota,
    ];
    this.#expireDue();
    const verb = verbs[this.#below(verbs.length)] as () => Promise<void>;
    await verb.call(this);
    await this.#check(`after step ${step}`);
  }

  async end(): Promise<void> {
    while (this.#held.length > 0) await this.#settle();
    await this.#check("at the end");
  }

  async #use(): Promise<void> {
    const cost = this.#below(30);
    const isAllowed = this.#charge(cost);
    const outcome = await this.#ledger.store.decide(this.#charges(cost));
    this.#expect(`use ${cost}`, outcome.allowed, isAllowed);
  }

  /** The same request three times, two of them together. */
  async #useAgain(): Promise<void> {
    const cost = 1 + this.#below(20);
    const requestId = `request-${++this.#count}`;
    const isAllowed = this.#charge(cost);
    const send = () => this.#ledger.store.decide(this.#charges(cost), { requestId });
    const outcomes = [...(await Promise.all([send(), send()])), await send()];
    const allowed = outcomes.map((outcome) => outcome.allowed);
    this.#expect(`use ${cost} thrice`, allowed, [isAllowed, isAllowed, isAllowed]);
  }

  async #hold(): Promise<void> {
    const cost = 1 + this.#below(30);
    const hold = (["lease", true, "briefly"] as const)[this.#below(3)] as true;
    const isAllowed = this.#charge(cost);
    const outcome = await this.#ledger.store.decide(this.#charges(cost), { hold });
    this.#expect(`hold ${hold} ${cost}`, outcome.allowed, isAllowed);
    const expiresAtMs = hold === true ? this.#clock.now() + RESERVATION_MS : undefined;
    for (const receipt of outcome.receipts) {
      this.#held.push({ receipt, period: this.#period, expiresAtMs });
    }
  }

  async #settle(): Promise<void> {
    const [held] = this.#held.splice(this.#below(this.#held.length), 1);
    if (held === undefined) return;
    const { receipt, period } = held;
    // A lease can't be spent beyond what it holds.
    const most = (receipt.proof as LedgerProof).kind === "lease" ? receipt.cost : receipt.cost + 20;
    const kept = [0, receipt.cost, this.#below(most + 1)][this.#below(3)] as number;
    this.#log.push(`settle ${receipt.cost} at ${kept}`);
    this.#sumsOf(period).balance += receipt.cost - kept;
    const settling = { receipt, kept, nowMs: this.#clock.now() };
    // Settled twice, it counts once.
    await this.#ledger.store.settle([settling]);
    await this.#ledger.store.settle([{ ...settling, kept: kept + 1 }]);
  }

  async #grant(): Promise<void> {
    const amount = 1 + this.#below(20);
    this.#log.push(`grant ${amount}`);
    const sums = this.#sumsOf(this.#period);
    sums.granted += amount;
    sums.balance += amount;
    await this.#ledger.grant(this.#correction(amount));
  }

  async #adjust(): Promise<void> {
    const amount = 1 + this.#below(20);
    this.#log.push(`adjust ${-amount}`);
    this.#sumsOf(this.#period).balance -= amount;
    await this.#ledger.adjust(this.#correction(-amount));
  }

  async #changeQuota(): Promise<void> {
    const larger = this.#capacity + 1 + this.#below(10);
    const sums = this.#sumsOf(this.#period);
    sums.granted += larger - this.#capacity;
    sums.balance += larger - this.#capacity;
    this.#capacity = larger;
    this.#counters.set(this.#key, this.#counter);
    this.#log.push(`quota ${larger}`);
    await this.#ledger.store.decide(this.#charges(0));
  }

  /** Reservations that were due have returned. */
  #expireDue(): void {
    for (const held of this.#held) {
      if (held.expiresAtMs === undefined || held.expiresAtMs > this.#clock.now()) continue;
      this.#sumsOf(held.period).balance += held.receipt.cost;
    }
    const isDue = ({ expiresAtMs }: Held) =>
      expiresAtMs !== undefined && expiresAtMs <= this.#clock.now();
    const rest = this.#held.filter((held) => !isDue(held));
    this.#held.splice(0, this.#held.length, ...rest);
  }

  async #check(when: string): Promise<void> {
    const [verdict] = await this.#ledger.store.peek(this.#charges(0));
    const { balance } = this.#sumsOf(this.#period);
    this.#expect(when, verdict?.remaining, Math.max(0, balance));
  }

  #charge(cost: number): boolean {
    const sums = this.#sumsOf(this.#period);
    const isAllowed = cost <= sums.balance;
    if (isAllowed) sums.balance -= cost;
    return isAllowed;
  }

  #charges(cost: number): Charge[] {
    return [{ counter: this.#counter, key: this.#key, cost, nowMs: this.#clock.now() }];
  }

  get #counter(): Counter {
    const limit = quota({ limit: this.#capacity, period: "week" });
    return { scope: "exports", part: 0, limit };
  }

  #correction(amount: number) {
    const by = { actor: "ops", reason: "trace", idempotencyKey: `correction-${++this.#count}` };
    return { meter: "exports", key: this.#key, amount, ...by };
  }

  get #period(): number {
    // 1 January 2026 is a Thursday.
    return Math.floor(((this.#clock.now() - START_MS) / DAY_MS + 3) / 7);
  }

  #sumsOf(period: number): Sums {
    const known = this.#periods.get(period);
    if (known !== undefined) return known;
    const sums = { granted: this.#capacity, balance: this.#capacity };
    this.#periods.set(period, sums);
    return sums;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #expect(what: string, seen: unknown, expected: unknown): void {
    this.#log.push(what);
    const message = `seed ${this.#seed}: ${this.#log.join(", ")}`;
    expect(seen, message).toEqual(expected);
  }
}

/** xorshift32. */
function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761) | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
