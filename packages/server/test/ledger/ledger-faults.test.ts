// What a ledger promises under faults: processes that are killed, databases that crash, answers that are lost. Nothing
// acknowledged is lost, and nothing is charged twice.

import { type ChildProcess, fork } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { quota } from "sluice";
import { makeFolder, type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { pause } from "../../src/base/clock.js";
import type { Database } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrate.js";
import { openDatabase } from "../../src/database/open-database.js";
import { LedgerStore } from "../../src/ledger/ledger-store.js";
import { reconcile } from "../../src/ledger/reading/reconcile.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";
import { testDatabases } from "../control/databases.js";
import { startReplyCutter } from "../control/reply-cutter.js";

const PROGRAM = fileURLToPath(new URL("./ledger-process.mjs", import.meta.url));
/** Kills of a process; `npm run soak` does more. */
const KILLS = Number(process.env.SLUICE_LEDGER_KILLS ?? 12);
/** Requests under way when it is killed. */
const UNDER_WAY = 80;
const ROUNDS = Number(process.env.SLUICE_LEDGER_ROUNDS ?? 50);

const all = testDatabases();
const children: LedgerProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

/** A process that charges. */
class LedgerProcess {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #ids = 0;

  private constructor(url: string, actor: string) {
    this.#process = fork(PROGRAM, [url, actor]);
    this.#process.on("message", (message: { id: number; answer?: unknown; error?: string }) => {
      this.#waiting.get(message.id)?.(message.error ?? message.answer);
      this.#waiting.delete(message.id);
    });
    // What was asked of a process that is gone gets no answer.
    this.#process.on("exit", () => {
      for (const answer of this.#waiting.values()) answer(undefined);
    });
    this.#process.on("error", () => {});
    children.push(this);
  }

  static async start(url: string, actor: string): Promise<LedgerProcess> {
    const child = new LedgerProcess(url, actor);
    await new Promise((resolve) => child.#waiting.set(0, resolve));
    return child;
  }

  ask(message: object): Promise<unknown> {
    const id = ++this.#ids;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.send({ id, ...message }, (error) => error === null || resolve(undefined));
    });
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}

async function usedUnits(database: Database): Promise<number> {
  const [row] = await database.query<{ units: number }>(
    "SELECT CAST(-SUM(amount) AS BIGINT) AS units FROM ledger_entries WHERE kind = 'use'",
  );
  return Number(row?.units);
}

async function expectWhole(database: Database): Promise<void> {
  expect((await verifyLedger(database)).problems).toEqual([]);
}

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

  it("loses at most the block of a process that dies with a lease, and names both", async () => {
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
  }, 60_000);

  it(`charges once what is sent again after a process was killed (${KILLS} kills)`, async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    let asked = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      // On so many accounts that SQLite writes them in a thread, and on few.
      const accounts = kill % 2 === 0 ? 40 : 7;
      const toRequests = (name: string, count: number) =>
        Array.from({ length: count }, (_, n) => ({
          charge: { key: `tenant:${n % accounts}`, cost: 1, requestId: `${name}-${kill}-${n}` },
        }));
      const requests = toRequests("r", UNDER_WAY);
      const first = await LedgerProcess.start(url, "first");
      // Two of three have met their accounts, and decide without reading them.
      const known = kill % 3 === 0 ? [] : toRequests("known", accounts);
      await Promise.all(known.map((request) => first.ask(request)));
      asked += known.length + requests.length;
      const answers = requests.map((request) => first.ask(request));
      // Somewhere between the first statement and the last answer, at another time for each kill and never at random.
      await pause((kill * 7) % 40);
      first.kill();
      const before = await Promise.all(answers);
      // Nothing that was acknowledged is lost, before anything is sent again.
      const acknowledged = before.filter((answer) => answer === true).length;
      expect(await usedUnits(database)).toBeGreaterThanOrEqual(
        asked - requests.length + acknowledged,
      );
      const second = await LedgerProcess.start(url, "second");
      const after = await Promise.all(requests.map((request) => second.ask(request)));
      expect(after).toEqual(requests.map(() => true));
      expect(before.filter((answer) => answer !== true && answer !== undefined)).toEqual([]);
      second.kill();
      expect(await usedUnits(database)).toBe(asked);
    }
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
    for (let crash = 0; crash < 3; crash++) {
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
  }, 60_000);

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
      for (let n = 0; n < 60; n++) {
        cutter.cutAfterReplies = n % replies;
        const some = ["a", "b", "c"].map((key) => store.decide(chargesOf(`tenant:${key}`)));
        expect((await Promise.all(some)).map(({ allowed }) => allowed)).toEqual([true, true, true]);
      }
      expect(cutter.cuts).toBeGreaterThan(25);
      cutter.server.close();
      const database = open(url);
      expect(await usedUnits(database)).toBe(180);
      await expectWhole(database);
      await store.close();
    },
    60_000,
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
  }, 60_000);

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
  }, 60_000);
});

describe("a ledger in an SQLite file", () => {
  const limit = quota({ limit: 1_000_000, period: "month" });
  const clock = { now: () => Date.now() };
  const chargesOf = (key: string) => [
    { counter: { scope: "exports", part: 0, limit }, key, cost: 1, nowMs: Date.now() },
  ];

  it("is whole after a power cut at any moment, with everything that was acknowledged", async () => {
    const folder = makeFolder("power-cut");
    const path = join(folder, "ledger.db");
    const database = openDatabase(`file:${path}`, "/");
    await migrate(database);
    const store = new LedgerStore(database, { actor: "node-1", clock });
    let admitted = 0;
    let isOver = false;
    const callers = Array.from({ length: 5 }, async (_, caller) => {
      while (!isOver) {
        await store.decide(chargesOf(`tenant:${caller}`));
        admitted++;
      }
    });
    for (let cut = 0; cut < 20; cut++) {
      await pause(cut % 5);
      for (let turn = 0; turn < cut; turn++) await Promise.resolve();
      // The files as they are on the disk, some of them in the middle of a transaction.
      const acknowledged = admitted;
      const copy = join(folder, `copy-${cut}.db`);
      for (const end of ["", "-wal"]) {
        if (existsSync(path + end)) copyFileSync(path + end, copy + end);
      }
      const reopened = openDatabase(`file:${copy}`, "/");
      expect(await usedUnits(reopened)).toBeGreaterThanOrEqual(acknowledged);
      await expectWhole(reopened);
      await reopened.close();
    }
    await vi.waitFor(() => expect(admitted).toBeGreaterThan(50), 60_000);
    isOver = true;
    await Promise.all(callers);
    await store.close();
    await database.close();
  }, 60_000);

  it("refuses by an error when the disk is full, loses nothing, and goes on when there is room", async () => {
    const path = join(makeFolder("disk-full"), "ledger.db");
    const database = openDatabase(`file:${path}`, "/");
    await migrate(database);
    const store = new LedgerStore(database, { actor: "node-1", clock });
    const [size] = await database.query<{ page_count: number }>("PRAGMA page_count");
    await database.query(`PRAGMA max_page_count = ${Number(size?.page_count) + 30}`);
    let admitted = 0;
    let failure: unknown;
    while (failure === undefined) {
      const some = Array.from({ length: 50 }, (_, n) => store.decide(chargesOf(`tenant:${n}`)));
      const settled = await Promise.allSettled(some);
      admitted += settled.filter(({ status }) => status === "fulfilled").length;
      failure = settled.find((each) => each.status === "rejected")?.reason;
    }
    expect(failure).toMatchObject({ code: "SLUICE_DATABASE_FAILED" });
    expect(await usedUnits(database)).toBe(admitted);
    await database.query("PRAGMA max_page_count = 1000000");
    expect((await store.decide(chargesOf("tenant:0"))).allowed).toBe(true);
    expect(await usedUnits(database)).toBe(admitted + 1);
    await expectWhole(database);
    await store.close();
    await database.close();
  }, 60_000);
});
