// What a ledger promises under faults: processes that are killed, databases that crash, answers that are lost. Nothing
// acknowledged is lost, and nothing is charged twice.

import { quota } from "sluice";
import { type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { pause } from "../../src/base/clock.js";
import type { Database } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrate.js";
import { openDatabase } from "../../src/database/open-database.js";
import { LedgerStore } from "../../src/ledger/ledger-store.js";
import { reconcile } from "../../src/ledger/queries/reconcile.js";
import { testDatabases } from "../control/databases.js";
import { startReplyCutter } from "../control/reply-cutter.js";
import { expectWhole, killProcesses, LedgerProcess, usedUnits } from "./ledger-processes.js";

/** Kills of a process; `npm run soak` does more. */
const KILLS = Number(process.env.SLUICE_LEDGER_KILLS ?? 4);
/** Requests that a process gets before it is killed, at most. */
const SENT_MAX = 2_000;
/** Between the last acknowledgement that is waited for and the kill, at most: a transaction and its answers take less. */
const KILL_DELAY_MS_MAX = 6;
/** Races for the last units of a quota; `npm run soak` has more. */
const ROUNDS = Number(process.env.SLUICE_LEDGER_ROUNDS ?? 3);

/** When a process is killed. */
interface KillPlan {
  /** Each has a request under way all the time, on an account of its own. */
  readonly callers: number;
  /** Answers that come before. */
  readonly acknowledgements: number;
  /** How long after them. */
  readonly delayMs: number;
}

const all = testDatabases();

afterEach(killProcesses);
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

describe.each(all)("a ledger in $name", (databases) => {
  it(`admits exactly what is left when 8 writers in 4 processes race for it (${ROUNDS} rounds)`, async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    const starting = [1, 2, 3, 4].map((n) => LedgerProcess.start(url, `node-${n}`));
    const processes = await Promise.all(starting);
    for (let round = 0; round < ROUNDS; round++) {
      const key = `tenant:${round}`;
      const got = await Promise.all(processes.map((each) => each.ask({ race: key })));
      expect([round, (got as number[]).reduce((sum, units) => sum + units)]).toEqual([round, 100]);
    }
    await expectWhole(database);
  }, 120_000);

  it("loses at most the lease of a process that dies, and names both", async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    const child = await LedgerProcess.start(url, "doomed");
    const admitted = await child.ask({ spend: { tenant: "acme", requests: 60 } });
    child.kill();
    expect(admitted).toBe(60);
    const atMs = Date.now();
    const found = await reconcile(database, { atMs, nowMs: atMs + 61_000 });
    const lease = { holder: "doomed-1", subject: "tenant:acme", kind: "lease", isOverdue: true };
    expect(found.holds.length).toBeGreaterThan(0);
    for (const hold of found.holds) expect(hold).toMatchObject(lease);
    const [sums] = found.meters;
    expect(sums).toMatchObject({ admitted: 50, uncharged: 0, unexplained: 0, drift: 0 });
    // A lease takes at most what remains ÷ (2 × holders).
    const blockMax = 1_000 / (2 * 4);
    expect(sums?.leased).toBeLessThanOrEqual(blockMax);
    expect(Number(sums?.charged) - 60).toBeLessThanOrEqual(Number(sums?.leased));
    expect(found.silent).toMatchObject([{ holder: "doomed-1" }]);
    await expectWhole(database);
  }, 180_000);

  it(`charges once what is sent again after a process was killed (${KILLS} kills)`, async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    const all = { sent: 0, acknowledged: 0, known: 0 };
    let last: LedgerProcess | undefined;
    for (let kill = 0; kill < KILLS; kill++) {
      const plan = planKill(kill);
      const toRequest = (name: string) => (n: number) => ({
        charge: { key: `tenant:${n % plan.callers}`, cost: 1, requestId: `${name}-${kill}-${n}` },
      });
      // Two of three have met their accounts, and decide without reading them: the one that answered after the last kill.
      const isKnown = kill % 3 !== 0;
      if (!isKnown) last?.kill();
      const first = (isKnown && last) || (await LedgerProcess.start(url, `node-${kill}`));
      const known = isKnown ? Array.from({ length: plan.callers }, (_, n) => n) : [];
      await Promise.all(known.map(toRequest("known")).map((request) => first.ask(request)));
      all.known += known.length;
      const { sent, answers } = await chargeUntilKilled(first, toRequest("r"), plan);
      expect(answers.filter((answer) => answer !== true && answer !== undefined)).toEqual([]);
      const acknowledged = answers.filter((answer) => answer === true).length;
      expect(acknowledged).toBeGreaterThanOrEqual(plan.acknowledgements);
      // Nothing that was acknowledged is lost, before anything is sent again.
      const atLeast = all.known + all.sent + acknowledged;
      expect(await usedUnits(database)).toBeGreaterThanOrEqual(atLeast);
      all.sent += sent.length;
      all.acknowledged += acknowledged;
      const second = await LedgerProcess.start(url, `after-${kill}`);
      last = second;
      const after = await Promise.all(sent.map((request) => second.ask(request)));
      expect(after).toEqual(sent.map(() => true));
      expect(await usedUnits(database)).toBe(all.known + all.sent);
    }
    // The kills came in the middle: after some answers, and before others.
    expect(all.acknowledged).toBeGreaterThan(0);
    expect(all.acknowledged).toBeLessThan(all.sent);
    await expectWhole(database);
  }, 3_600_000);
});

describe("a ledger in a PostgreSQL that fails", () => {
  let server: PostgresServer;
  const opened: Database[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await server.stop();
  });

  const open = (url: string) => {
    const database = openDatabase(url, "/");
    opened.push(database);
    return database;
  };
  const limit = quota({ limit: 1_000_000, period: "month" });
  const chargesOf = (key: string) => [
    { counter: { scope: "exports", part: 0, limit }, key, cost: 1, nowMs: Date.now() },
  ];
  const clock = { now: () => Date.now() };

  it("loses nothing acknowledged and doubles nothing when it crashes under load", async () => {
    const database = open(server.createDatabase());
    await migrate(database);
    const store = new LedgerStore(database, { actor: "node-1", clock, retryMsMax: 30_000 });
    let isOver = false;
    let admitted = 0;
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      while (!isOver) {
        const { allowed } = await store.decide(chargesOf(`tenant:${caller % 5}`));
        if (allowed) admitted++;
      }
    });
    // Each crash comes while requests are admitted, however fast the machine is.
    for (let crash = 0; crash < 2; crash++) {
      const before = admitted;
      await vi.waitFor(() => expect(admitted).toBeGreaterThan(before + 25), 60_000);
      await server.restart("immediate");
    }
    await vi.waitFor(() => expect(admitted).toBeGreaterThan(100), 60_000);
    isOver = true;
    await Promise.all(callers);
    expect(await usedUnits(database)).toBe(admitted);
    await expectWhole(database);
    await store.close();
  }, 180_000);

  it.each([
    ["under locks", 0, 7],
    ["out of the cache", 1_000, 2],
  ])(
    "resolves outcomes that a lost connection left unknown, wherever it is cut: %s",
    async (_, accountsCachedMax, replies) => {
      const url = server.createDatabase();
      await migrate(open(url));
      const cutter = await startReplyCutter(server.port);
      const cut = open(url.replace(`:${server.port}/`, `:${cutter.port}/`));
      const options = { actor: "node-1", clock, retryMsMax: 30_000, accountsCachedMax };
      const store = new LedgerStore(cut, options);
      const rounds = 4 * replies;
      for (let n = 0; n < rounds; n++) {
        cutter.cutAfterReplies = n % replies;
        const some = ["a", "b", "c"].map((key) => store.decide(chargesOf(`tenant:${key}`)));
        expect((await Promise.all(some)).map(({ allowed }) => allowed)).toEqual([true, true, true]);
      }
      expect(cutter.cuts).toBeGreaterThan(rounds / 3);
      cutter.server.close();
      const database = open(url);
      expect(await usedUnits(database)).toBe(3 * rounds);
      await expectWhole(database);
      await store.close();
    },
    180_000,
  );

  it("refuses by an error when its disk is full, loses nothing, and goes on when there is room", async () => {
    const url = server.createDatabase();
    const filler = open(url);
    await migrate(filler);
    // No file may be larger than a segment of its log, and the table of entries almost is.
    await filler.query(
      "INSERT INTO ledger_accounts VALUES ('full', 'm', 0, 's', 0, 1, 0, 0, '{\"grants\":[],\"debt\":0}', 0, '')",
    );
    await filler.query(
      `INSERT INTO ledger_entries SELECT 'full', n, 'use', 0, 0, n::text, NULL, repeat('x', 900), 0, NULL, ''
       FROM generate_series(1, 18200) AS n`,
    );
    await filler.query("DELETE FROM ledger_entries");
    await filler.query("DELETE FROM ledger_accounts");
    server.limitFiles(17 * 2 ** 20);
    const full = open(url);
    const store = new LedgerStore(full, { actor: "node-1", clock, sweepMs: 0 });
    let admitted = 0;
    let failure: unknown;
    while (failure === undefined) {
      const some = Array.from({ length: 400 }, (_, n) =>
        store.decide(chargesOf(`tenant:${n % 9}`)),
      );
      const settled = await Promise.allSettled(some);
      admitted += settled.filter(({ status }) => status === "fulfilled").length;
      failure = settled.find((each) => each.status === "rejected")?.reason;
    }
    expect(failure).toMatchObject({ code: "SLUICE_DATABASE_FAILED" });
    expect(await usedUnits(filler)).toBe(admitted);
    server.limitFiles(undefined);
    const roomy = new LedgerStore(open(url), { actor: "node-2", clock, sweepMs: 0 });
    expect((await roomy.decide(chargesOf("tenant:0"))).allowed).toBe(true);
    expect(await usedUnits(filler)).toBe(admitted + 1);
    await expectWhole(filler);
    await Promise.all([store.close(), roomy.close()]);
  }, 180_000);

  it("refuses by an error once the database stays unavailable, and charges nothing", async () => {
    const database = open(server.createDatabase());
    await migrate(database);
    const store = new LedgerStore(database, { actor: "node-1", clock, retryMsMax: 200 });
    await store.decide(chargesOf("tenant:a"));
    await server.halt("immediate");
    const decision = store.decide(chargesOf("tenant:a"));
    await expect(decision).rejects.toMatchObject({ code: "SLUICE_DATABASE_UNAVAILABLE" });
    await server.start();
    expect((await store.decide(chargesOf("tenant:a"))).allowed).toBe(true);
    expect(await usedUnits(database)).toBe(2);
    await store.close();
  }, 180_000);
});

/** The same plan for the same kill: on so many accounts that SQLite writes them in a thread, or on few. */
function planKill(kill: number): KillPlan {
  const draw = (salt: number) => (Math.imul(kill * 4 + salt, 2_654_435_761) >>> 0) / 2 ** 32;
  return {
    callers: kill % 2 === 0 ? 40 : 7,
    acknowledgements: 1 + Math.floor(draw(1) * 80),
    // One of three comes while the request after the last answer is on its way.
    delayMs: kill % 3 === 0 ? 0 : draw(2) * KILL_DELAY_MS_MAX,
  };
}

/** Charges until the process is killed. Returns what was sent, and the answers in the order in which they came. */
async function chargeUntilKilled(
  child: LedgerProcess,
  toRequest: (n: number) => object,
  { callers, acknowledgements, delayMs }: KillPlan,
): Promise<{ sent: readonly object[]; answers: readonly unknown[] }> {
  const sent: object[] = [];
  const answers: unknown[] = [];
  let isKilled = false;
  let killing: Promise<void> | undefined;
  const kill = async () => {
    if (delayMs > 0) await pause(delayMs);
    isKilled = true;
    child.kill();
  };
  const call = async () => {
    while (!isKilled && sent.length < SENT_MAX) {
      const request = toRequest(sent.length);
      sent.push(request);
      const answer = child.ask(request);
      if (answers.length >= acknowledgements) killing ??= kill();
      answers.push(await answer);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  await killing;
  return { sent, answers };
}
