// A ledger in an SQLite file whose power or whose disk fails, over the built package: as in production, charges on many
// accounts are written by the thread, and those on few where they were decided.

import { copyFileSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { quota } from "sluice";
import { makeFolder } from "sluice-test-servers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { pause } from "../../src/base/clock.js";
import { migrate } from "../../src/database/migrate.js";
import type * as opening from "../../src/database/open-database.js";
import type * as writing from "../../src/database/sqlite-writer.js";
import type * as stores from "../../src/ledger/ledger-store.js";
import { expectWhole, killProcesses, LedgerProcess, usedUnits } from "./ledger-processes.js";

const CUTS = 10;
const limit = quota({ limit: 1_000_000, period: "month" });
const clock = { now: () => Date.now() };
const chargesOf = (key: string) => [
  { counter: { scope: "exports", part: 0, limit }, key, cost: 1, nowMs: Date.now() },
];

let openDatabase: typeof opening.openDatabase;
let LedgerStore: typeof stores.LedgerStore;
let SqliteWriter: typeof writing.SqliteWriter;

beforeAll(async () => {
  const load = (name: string) =>
    import(fileURLToPath(new URL(`../../dist/${name}`, import.meta.url)));
  ({ openDatabase } = await load("database/open-database.js"));
  ({ LedgerStore } = await load("ledger/ledger-store.js"));
  ({ SqliteWriter } = await load("database/sqlite-writer.js"));
});
afterEach(killProcesses);
afterEach(() => vi.restoreAllMocks());

describe.each([
  ["by the thread", 40],
  ["where it is decided", 5],
])("a ledger in an SQLite file, written %s", (_, accounts) => {
  const isInThread = accounts > 16;

  it("is whole after a power cut at any moment, with everything that was acknowledged", async () => {
    const inThread = vi.spyOn(SqliteWriter.prototype, "runGroup");
    const folder = makeFolder("power-cut");
    const path = join(folder, "ledger.db");
    const database = openDatabase(`file:${path}`, "/");
    await migrate(database);
    const store = new LedgerStore(database, { actor: "node-1", clock });
    let admitted = 0;
    let isOver = false;
    const callers = Array.from({ length: accounts }, async (_, caller) => {
      while (!isOver) {
        await store.decide(chargesOf(`tenant:${caller}`));
        admitted++;
      }
    });
    await vi.waitFor(() => expect(admitted).toBeGreaterThan(2 * accounts), 60_000);
    for (let cut = 0; cut < CUTS; cut++) {
      // Charges go on between one cut and the next.
      const before = admitted;
      const isGoingOn = () => expect(admitted).toBeGreaterThan(before);
      await vi.waitFor(isGoingOn, { timeout: 60_000, interval: 1 });
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
    isOver = true;
    await Promise.all(callers);
    expect(inThread.mock.calls.length > 0).toBe(isInThread);
    await store.close();
    await database.close();
  }, 180_000);

  it("refuses by an error when the disk is full, loses nothing, and goes on when there is room", async () => {
    const path = join(makeFolder("disk-full"), "ledger.db");
    const url = `file:${path}`;
    const database = openDatabase(url, "/");
    await migrate(database);
    const child = await LedgerProcess.start(url, "full");
    let asked = 0;
    const ask = () => {
      const charge = (n: number) => ({
        charge: { key: `tenant:${n}`, cost: 1, requestId: `r-${asked++}` },
      });
      return Promise.all(Array.from({ length: accounts }, (_, n) => child.ask(charge(n))));
    };
    let admitted = (await ask()).filter((answer) => answer === true).length;
    expect(admitted).toBe(accounts);
    child.limitFiles(statSync(`${path}-wal`).size + 200_000);
    let failure: unknown;
    while (failure === undefined) {
      const answers = await ask();
      admitted += answers.filter((answer) => answer === true).length;
      failure = answers.find((answer) => answer !== true);
    }
    expect(failure).toMatch(/^the database reported an error: .*(full|I\/O error)/);
    expect(await usedUnits(database)).toBe(admitted);
    child.limitFiles(undefined);
    expect(await ask()).toEqual(Array.from({ length: accounts }, () => true));
    expect(await usedUnits(database)).toBe(admitted + accounts);
    await expectWhole(database);
    await database.close();
  }, 180_000);
});
