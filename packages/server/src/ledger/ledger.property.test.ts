// Random traces of everything that can be done to an account, over the ends of periods, against a plain model, on both
// databases. A failure names its seed: set SEED to replay it alone.

import { type Charge, type ChargeReceipt, type Counter, quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { AccountModel, type ModelCharge } from "../../test/ledger/account-model.js";
import { emptyLedger } from "../../test/ledger/emptied.js";
import type { Database } from "../database/database.js";
import { Ledger } from "./ledger.js";
import type { LedgerProof } from "./operations/settle.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const all = testDatabases();

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const START_MS = Date.UTC(2026, 0, 1);
/** The Monday before. */
const WEEK_0_MS = Date.UTC(2025, 11, 29);
const DAY_MS = 86_400_000;
const RESERVATION_MS = 2 * DAY_MS;
const STEPS = 24;
/** Steps between two verifications of all accounts. */
const VERIFY_STEPS = 4;
const SEEDS_TOGETHER = 100;
/** `npm run soak` has more. */
const SEEDS = Number(process.env.SLUICE_LEDGER_SEEDS ?? 100);
const ONLY = process.env.SEED === undefined ? undefined : Number(process.env.SEED);

describe.each(all)("random traces on a ledger in $name", (databases) => {
  it(`are answered as by a plain model, and verify (${SEEDS} seeds)`, async () => {
    const database = await databases.ready();
    const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [ONLY];
    for (let at = 0; at < seeds.length; at += SEEDS_TOGETHER) {
      await runTogether(database, seeds.slice(at, at + SEEDS_TOGETHER));
      await emptyLedger(database);
    }
  }, 3_600_000);
});

/** Traces that run together share transactions, as requests of different tenants do. */
async function runTogether(database: Database, seeds: readonly number[]): Promise<void> {
  const clock = new ManualClock(START_MS);
  const counters = new Map<string, Counter>();
  const findCounter = (_: string, key: string) => counters.get(key);
  const options = { clock, findCounter, reservationMs: RESERVATION_MS, sweepMs: 0 };
  const nodes = [1, 2].map((n) => new Ledger(database, { ...options, actor: `node-${n}` }));
  const traces = seeds.map((seed) => {
    return new Trace(seed, { ledger: nodes[seed % 2] as Ledger, clock, counters });
  });
  for (let step = 0; step < STEPS; step++) {
    await sweepAll(nodes);
    await Promise.all(traces.map((trace) => trace.step(step)));
    if (step % VERIFY_STEPS === 0) await expectWhole(database, `step ${step} of ${seeds[0]}…`);
    clock.advance(DAY_MS);
  }
  await sweepAll(nodes);
  await Promise.all(traces.map((trace) => trace.end()));
  await Promise.all(nodes.map((node) => node.close()));
  await expectWhole(database, `the end of ${seeds[0]}…`);
}

/** Returns what has expired; both nodes sweep. */
async function sweepAll(nodes: readonly Ledger[]): Promise<void> {
  while ((await Promise.all(nodes.map(({ store }) => store.sweep()))).some((n) => n > 0));
}

async function expectWhole(database: Database, when: string): Promise<void> {
  expect((await verifyLedger(database)).problems, when).toEqual([]);
}

interface Held {
  readonly receipt: ChargeReceipt;
  readonly account: AccountModel;
  readonly charge: ModelCharge;
  /** When a reservation expires; undefined for what does not. */
  readonly expiresAtMs: number | undefined;
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
  readonly #counters: Map<string, Counter>;
  readonly #carryOverMax: number;
  readonly #held: Held[] = [];
  readonly #log: string[] = [];
  /** Of the last period in which it was opened. */
  #account: AccountModel | undefined;
  #capacity: number;
  #isBlocked = false;
  #count = 0;

  constructor(seed: number, { ledger, clock, counters }: World) {
    this.#seed = seed;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#counters = counters;
    this.#random = seeded(seed);
    this.#key = `tenant:${seed}`;
    this.#capacity = 10 + this.#below(90);
    this.#carryOverMax = [0, 15, 1_000][this.#below(3)] as number;
    this.#counters.set(this.#key, this.#counter);
  }

  async step(step: number): Promise<void> {
    const verbs = [
      this.#use,
      this.#use,
      this.#use,
      this.#useAgain,
      this.#hold,
      this.#hold,
      this.#hold,
      this.#settle,
      this.#settle,
      this.#settle,
      this.#grant,
      this.#adjust,
      this.#changeQuota,
      this.#refund,
      this.#reset,
      this.#block,
    ];
    this.#expireDue();
    const verb = verbs[this.#below(verbs.length)] as () => Promise<void>;
    await verb.call(this);
    await this.#check(`after step ${step}`);
  }

  async end(): Promise<void> {
    this.#expireDue();
    while (this.#held.length > 0) await this.#settle();
    await this.#check("at the end");
  }

  async #use(): Promise<void> {
    const cost = this.#below(30);
    const charged = this.#charge(cost);
    const outcome = await this.#ledger.store.decide(this.#charges(cost));
    this.#expect(`use ${cost}`, outcome.allowed, charged !== undefined);
  }

  /** The same request three times, two of them together. */
  async #useAgain(): Promise<void> {
    const cost = 1 + this.#below(20);
    const requestId = `request-${++this.#count}`;
    const isAllowed = this.#charge(cost) !== undefined;
    const send = () => this.#ledger.store.decide(this.#charges(cost), { requestId });
    const outcomes = [...(await Promise.all([send(), send()])), await send()];
    const allowed = outcomes.map((outcome) => outcome.allowed);
    this.#expect(`use ${cost} thrice`, allowed, [isAllowed, isAllowed, isAllowed]);
  }

  async #hold(): Promise<void> {
    const cost = 1 + this.#below(30);
    const hold = (["lease", true, "briefly"] as const)[this.#below(3)] as true;
    const charge = this.#charge(cost);
    const outcome = await this.#ledger.store.decide(this.#charges(cost), { hold });
    this.#expect(`hold ${hold} ${cost}`, outcome.allowed, charge !== undefined);
    const expiresAtMs = hold === true ? this.#clock.now() + RESERVATION_MS : undefined;
    const [receipt] = outcome.receipts;
    if (receipt === undefined || charge === undefined) return;
    this.#held.push({ receipt, account: this.#opened(), charge, expiresAtMs });
  }

  async #settle(): Promise<void> {
    const [held] = this.#held.splice(this.#below(this.#held.length), 1);
    if (held === undefined) return;
    const { receipt, account, charge } = held;
    // A lease can't be spent beyond what it holds.
    const most = (receipt.proof as LedgerProof).kind === "lease" ? receipt.cost : receipt.cost + 20;
    const kept = [0, receipt.cost, this.#below(most + 1)][this.#below(3)] as number;
    this.#log.push(`settle ${receipt.cost} at ${kept}`);
    if (kept > receipt.cost) account.expire(this.#clock.now());
    if (kept > receipt.cost) account.charge(kept - receipt.cost);
    else account.giveBack(receipt.cost - kept, charge);
    const settling = { receipt, kept, nowMs: this.#clock.now() };
    // Settled twice, it counts once.
    await this.#ledger.store.settle([settling]);
    await this.#ledger.store.settle([{ ...settling, kept: kept + 1 }]);
  }

  /** A top-up until the period ends, or for some days, which may be in the next period. */
  async #grant(): Promise<void> {
    const amount = 1 + this.#below(20);
    const days = this.#below(10);
    const expiresAtMs = days === 0 ? undefined : this.#clock.now() + days * DAY_MS;
    this.#log.push(`grant ${amount} for ${days} days`);
    const account = this.#opened();
    account.grant(amount, expiresAtMs ?? account.period.endMs);
    await this.#ledger.grant({ ...this.#correction(amount), expiresAtMs });
  }

  async #adjust(): Promise<void> {
    const amount = (1 + this.#below(20)) * (this.#below(2) === 0 ? 1 : -1);
    this.#log.push(`adjust ${amount}`);
    this.#opened().adjust(amount);
    await this.#ledger.adjust(this.#correction(amount));
  }

  async #changeQuota(): Promise<void> {
    this.#capacity = Math.max(5, this.#capacity - 20 + this.#below(50));
    this.#counters.set(this.#key, this.#counter);
    this.#log.push(`quota ${this.#capacity}`);
    this.#opened();
    await this.#ledger.store.decide(this.#charges(0));
  }

  /** An operator's refund, which opens no account, sent once, or twice under one id. */
  async #refund(): Promise<void> {
    const units = this.#below(25);
    const expected = this.#openNow()?.refund(units) ?? 0;
    const requestId = this.#below(2) === 0 ? undefined : `refund-${++this.#count}`;
    const send = () => this.#ledger.store.refund(this.#actCharges(units, requestId));
    const answers = [await send(), ...(requestId === undefined ? [] : [await send()])];
    this.#expect(
      `refund ${units}`,
      answers,
      answers.map(() => [expected]),
    );
  }

  async #reset(): Promise<void> {
    this.#log.push("reset");
    this.#openNow()?.reset();
    await this.#ledger.store.reset(this.#actCharges(0, `reset-${++this.#count}`));
  }

  async #block(): Promise<void> {
    const { store } = this.#ledger;
    const nowMs = this.#clock.now();
    this.#isBlocked = !this.#isBlocked;
    this.#log.push(this.#isBlocked ? "block" : "unblock");
    const forever = { untilMs: Number.POSITIVE_INFINITY, nowMs };
    await (this.#isBlocked
      ? store.block("exports", this.#key, forever)
      : store.unblock("exports", this.#key));
  }

  /** Reservations that were due have returned, in the order of their expiry. */
  #expireDue(): void {
    const nowMs = this.#clock.now();
    const isDue = ({ expiresAtMs }: Held) => expiresAtMs !== undefined && expiresAtMs <= nowMs;
    for (const { account, charge } of this.#held.filter(isDue)) {
      account.giveBack(charge.units, charge);
    }
    const rest = this.#held.filter((held) => !isDue(held));
    this.#held.splice(0, this.#held.length, ...rest);
  }

  async #check(when: string): Promise<void> {
    const [verdict] = await this.#ledger.store.peek(this.#charges(0));
    const { balance } = this.#caughtUp(this.#account?.copy());
    const remaining = this.#isBlocked ? 0 : Math.max(0, balance);
    this.#expect(when, verdict?.remaining, remaining);
  }

  /** Charges the model if it has enough left. */
  #charge(cost: number): ModelCharge | undefined {
    const account = this.#opened();
    return this.#isBlocked || cost > account.balance ? undefined : account.charge(cost);
  }

  /** The account of this period as a request finds it. */
  #opened(): AccountModel {
    this.#account = this.#caughtUp(this.#account);
    return this.#account;
  }

  /** The account of this period if a request has opened it. */
  #openNow(): AccountModel | undefined {
    const isNow = this.#account?.period.startMs === this.#period.startMs;
    if (isNow) this.#account?.expire(this.#clock.now());
    return isNow ? this.#account : undefined;
  }

  #caughtUp(last: AccountModel | undefined): AccountModel {
    const nowMs = this.#clock.now();
    if (last?.period.startMs !== this.#period.startMs) {
      const how = { quota: this.#capacity, carryOverMax: this.#carryOverMax, nowMs };
      return AccountModel.open(this.#period, how, last);
    }
    last.expire(nowMs);
    last.changeQuota(this.#capacity);
    return last;
  }

  #charges(cost: number): Charge[] {
    return [{ counter: this.#counter, key: this.#key, cost, nowMs: this.#clock.now() }];
  }

  #actCharges(cost: number, requestId: string | undefined): Charge[] {
    return this.#charges(cost).map((charge) => ({ ...charge, isAnyTier: true, requestId }));
  }

  get #counter(): Counter {
    const limit = quota({ limit: this.#capacity, period: "week" });
    const durable = { carryOverMax: this.#carryOverMax, alertShares: [] };
    return { scope: "exports", part: 0, limit, durable };
  }

  #correction(amount: number) {
    const by = { actor: "ops", reason: "trace", idempotencyKey: `correction-${++this.#count}` };
    return { meter: "exports", key: this.#key, amount, ...by };
  }

  get #period() {
    const week = Math.floor((this.#clock.now() - WEEK_0_MS) / (7 * DAY_MS));
    const startMs = WEEK_0_MS + week * 7 * DAY_MS;
    return { startMs, endMs: startMs + 7 * DAY_MS };
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
