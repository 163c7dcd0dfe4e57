import { type Charge, type DecideOptions, type Outcome, quota, type Store } from "sluice";
import { createPolicy, type Policy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import type { Database } from "../../database/database.js";
import { LedgerStore } from "../ledger-store.js";
import { type Reconciliation, reconcile } from "../queries/reconcile.js";
import { ACCOUNTS_MAX, AdmissionCounts } from "./admission-counts.js";
import { AdmissionReporter } from "./admission-reporter.js";

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 4, 1);
const NOW_MS = Date.UTC(2026, 4, 10);

const all = testDatabases();
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** A ledger that can be taken away. */
class Away implements Pick<Store, "decide"> {
  isAway = false;
  readonly #decide: Store["decide"];

  constructor(store: Store) {
    this.#decide = store.decide.bind(store);
    store.decide = (charges, options) => this.decide(charges, options);
  }

  async decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    if (this.isAway) throw new Error("away");
    return this.#decide(charges, options);
  }
}

interface Node {
  readonly policy: Policy;
  readonly reporter: AdmissionReporter;
  readonly ledger: Away;
  readonly clock: ManualClock;
  use(
    tenant: string,
    options?: { readonly cost?: number; readonly requestId?: string },
  ): Promise<boolean>;
}

interface NodeOptions {
  readonly actor: string;
  readonly clock?: ManualClock;
  readonly consistency?: "strict" | "leased";
}

function startNode(
  database: Database,
  { actor, clock = new ManualClock(NOW_MS), consistency = "strict" }: NodeOptions,
): Node {
  const store = new LedgerStore(database, { actor, clock, sweepMs: 0, retryMsMax: 0 });
  const ledger = new Away(store);
  const reporter = new AdmissionReporter({ actor, clock, reportMs: 0 });
  reporter.open(database);
  const rule = {
    id: "exports",
    key: "tenant",
    limit: { quota: { limit: 1_000, period: "month" } },
    durable: true,
    consistency,
    onStoreFailure: "open",
    timeoutMs: 60_000,
  };
  const policy = createPolicy({
    rules: { version: 1, rules: [rule] },
    durableStore: store,
    admissions: reporter.meter,
    clock,
  });
  opened.push(store, policy);
  const use: Node["use"] = async (tenant, options) =>
    (await policy.admit({ method: "POST", path: "/", tenant }, options)).allowed;
  return { policy, reporter, ledger, clock, use };
}

/** Reports, and reads what was found when the slack of reports in flight is over. */
async function reconcileLater(database: Database, nodes: readonly Node[]): Promise<Reconciliation> {
  for (const { clock } of nodes) clock.advance(120_000);
  for (const { reporter } of nodes) await reporter.report();
  const nowMs = nodes[0].clock.now();
  return reconcile(database, { atMs: nowMs, nowMs });
}

describe.each(all)("admissions of a ledger in $name", (databases) => {
  it("equal what was charged, by strict rules and out of leases", async () => {
    const database = await databases.ready();
    const nodes = [
      startNode(database, { actor: "one" }),
      startNode(database, { actor: "two", consistency: "leased" }),
    ];
    for (const { use } of nodes) {
      for (let i = 0; i < 40; i++)
        expect(await use(`t-${i % 2}`, { cost: 1 + (i % 3) })).toBe(true);
    }
    await nodes[1].policy.close();
    const { meters, uncharged } = await reconcileLater(database, nodes);
    expect(meters).toMatchObject([
      { charged: 158, admitted: 158, leased: 0, unreported: 0, unexplained: 0, drift: 0 },
    ]);
    expect(uncharged).toEqual([]);
  });

  it("show who was admitted, and by whom, while the ledger did not answer", async () => {
    const database = await databases.ready();
    const node = startNode(database, { actor: "one" });
    await node.use("acme", { cost: 5 });
    node.ledger.isAway = true;
    await node.use("acme", { cost: 20 });
    await node.use("other", { cost: 3 });
    const found = await reconcileLater(database, [node]);
    expect(found.meters).toMatchObject([
      { charged: 5, admitted: 5, uncharged: 23, unexplained: 0, drift: 0 },
    ]);
    expect(found.uncharged).toMatchObject([
      { meter: "exports", subject: "tenant:acme", units: 20, holder: "one" },
      { meter: "exports", subject: "tenant:other", units: 3, holder: "one" },
    ]);
  });

  it("count a request that is sent again once, or as repeated", async () => {
    const database = await databases.ready();
    const node = startNode(database, { actor: "one" });
    for (let i = 0; i < 3; i++) await node.use("acme", { cost: 4, requestId: "same" });
    const { meters } = await reconcileLater(database, [node]);
    expect(meters).toMatchObject([{ charged: 4, admitted: 4, repeated: 8, drift: 0 }]);
  });

  it("name drift: units that no process admitted, and units that were never charged", async () => {
    const database = await databases.ready();
    const node = startNode(database, { actor: "one" });
    await node.use("acme", { cost: 30 });
    const { limit } = { limit: quota({ limit: 1_000, period: "month" }) };
    const counter = { scope: "exports", part: 0, limit };
    node.reporter.meter.count("charged", counter, "tenant:acme", 7, NOW_MS);
    const more = await reconcileLater(database, [node]);
    expect(more.meters).toMatchObject([{ charged: 30, admitted: 37, drift: 7 }]);
    node.reporter.meter.count("charged", counter, "tenant:acme", -9, NOW_MS);
    const less = await reconcileLater(database, [node]);
    expect(less.meters).toMatchObject([{ charged: 30, admitted: 28, drift: -2 }]);
  });

  it("explain what a process that died had not reported, and name the process", async () => {
    const database = await databases.ready();
    const node = startNode(database, { actor: "one" });
    await node.use("acme", { cost: 30 });
    node.clock.advance(HOUR_MS);
    await node.reporter.report();
    await node.use("acme", { cost: 12 });
    // It dies: nothing is reported any more.
    const nowMs = node.clock.now() + HOUR_MS;
    const found = await reconcile(database, { atMs: nowMs, nowMs });
    expect(found.meters).toMatchObject([{ charged: 42, admitted: 30, unreported: 12, drift: 0 }]);
    expect(found.silent).toEqual([
      { holder: "one", startedAtMs: NOW_MS, reportedAtMs: NOW_MS + HOUR_MS },
    ]);
  });

  it("are added once if the answer to a report is lost", async () => {
    const database = await databases.ready();
    const clock = new ManualClock(NOW_MS);
    let isLost = true;
    const losing: Database = Object.create(database);
    losing.query = async (sql, values) => {
      const rows = await database.query(sql, values);
      if (isLost && sql.includes("ledger_admissions")) throw new Error("cut");
      return rows as never;
    };
    const reporter = new AdmissionReporter({ actor: "one", clock, reportMs: 0 });
    reporter.open(losing);
    const limit = quota({ limit: 1_000, period: "month" });
    const counter = { scope: "exports", part: 0, limit };
    const count = (units: number) =>
      reporter.meter.count("charged", counter, "tenant:acme", units, NOW_MS);
    count(3);
    await expect(reporter.report()).rejects.toThrow("cut");
    count(4);
    await expect(reporter.report()).rejects.toThrow("cut");
    isLost = false;
    await reporter.close();
    const rows = await database.query("SELECT subject, units FROM ledger_admissions");
    expect(rows).toEqual([{ subject: "tenant:acme", units: 7 }]);
    const [run] = await database.query("SELECT holder, has_ended FROM ledger_reporters");
    expect(run).toEqual({ holder: "one", has_ended: 1 });
  });

  it("at the end of a period may be charged to the next one", async () => {
    const database = await databases.ready();
    const clock = new ManualClock(Date.UTC(2026, 5, 1) - 1);
    const node = startNode(database, { actor: "one", clock });
    const counted = node.reporter.meter.count.bind(node.reporter.meter);
    // The answer counts in May, by the time of the request; the entry is written in June.
    node.reporter.meter.count = (source, counter, key, units) =>
      counted(source, counter, key, units, Date.UTC(2026, 5, 1) - 1);
    clock.advance(1);
    await node.use("acme", { cost: 5 });
    const { meters } = await reconcileLater(database, [node]);
    expect(meters).toMatchObject([{ charged: 5, admitted: 0, unreported: 5, drift: 0 }]);
    const may = { atMs: START_MS, nowMs: clock.now() };
    expect((await reconcile(database, may)).meters).toMatchObject([{ admitted: 5, drift: 0 }]);
  });
});

describe("the counts of a process", () => {
  it("stay bounded while they can't be reported: the rest is counted by meter", () => {
    const counts = new AdmissionCounts();
    const limit = quota({ limit: 10, period: "month" });
    const counter = { scope: "exports", part: 0, limit };
    const total = ACCOUNTS_MAX + 10;
    for (let i = 0; i < total; i++) counts.count("charged", counter, `tenant:${i}`, 2, NOW_MS);
    const taken = counts.take();
    expect(taken.length).toBe(ACCOUNTS_MAX + 1);
    expect(taken.find(({ name }) => name.subject === "")?.units).toBe(20);
    expect(taken.reduce((sum, { units }) => sum + units, 0)).toBe(2 * total);
    expect(counts.isEmpty).toBe(true);
  });

  it("belong to the period of the charge", () => {
    const counts = new AdmissionCounts();
    const limit = quota({ limit: 10, period: "month" });
    const counter = { scope: "exports", part: 0, limit };
    for (const atMs of [START_MS - 1, START_MS, NOW_MS, START_MS, NOW_MS]) {
      counts.count("charged", counter, "tenant:acme", 1, atMs);
    }
    const taken = counts.take().map(({ name, source, units }) => [name.startsAtMs, source, units]);
    expect(taken).toEqual([
      [Date.UTC(2026, 3, 1), "edge", 1],
      [START_MS, "edge", 2],
      [START_MS, "charged", 2],
    ]);
  });
});
