// A change in SQLite resolves when it is on the disk, and nothing else waits for the disk meanwhile.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, expect, it, vi } from "vitest";
import { pause } from "../base/clock.js";
import type { Database } from "./database.js";
import { openDatabase } from "./open-database.js";

/** Flushes wait here until the test lets them end. */
const flushes: { readonly path: string; readonly end: (error?: Error) => void }[] = [];
vi.mock("node:fs/promises", async (load) => ({
  ...(await load<typeof import("node:fs/promises")>()),
  open: async (path: string) => ({
    datasync: () =>
      new Promise<void>((resolve, reject) => {
        const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
        flushes.push({ path, end });
      }),
    close: async () => {},
  }),
}));

let database: Database;
afterEach(() => database.close());

async function open() {
  flushes.length = 0;
  const path = join(makeFolder("flush"), "a.db");
  database = openDatabase(`file:${path}`, "/");
  const making = database.query("CREATE TABLE t (n INTEGER)");
  await vi.waitFor(() => expect(flushes).toHaveLength(1), 20_000);
  flushes[0]?.end();
  await making;
  flushes.length = 0;
  return path;
}

const add = (n: number) =>
  database.transaction((tx) => tx.query("INSERT INTO t (n) VALUES ($1)", [n]));
const count = async () => (await database.query("SELECT count(*) AS n FROM t"))[0]?.n;

it("resolves a transaction, and announces it, when its log is on the disk; reading goes on", async () => {
  const path = await open();
  const seen: string[] = [];
  database.subscribe(() => seen.push("announced"));
  const adding = database
    .transaction(async (tx) => {
      await tx.query("INSERT INTO t (n) VALUES (1)");
      await tx.announce();
    })
    .then(() => seen.push("resolved"));
  await vi.waitFor(() => expect(flushes.map((each) => each.path)).toEqual([`${path}-wal`]), 20_000);
  expect(await count()).toBe(1);
  await pause(20);
  expect(seen).toEqual([]);
  flushes[0]?.end();
  await adding;
  expect(seen).toEqual(["announced", "resolved"]);
});

it("flushes once for all that was committed while another flush was under way", async () => {
  await open();
  const first = add(0);
  await vi.waitFor(() => expect(flushes).toHaveLength(1), 20_000);
  let isDone = false;
  const others = Promise.all([1, 2, 3, 4, 5].map(add)).then(() => {
    isDone = true;
  });
  await vi.waitFor(async () => expect(await count()).toBe(6), 20_000);
  // The one under way may have begun before they were written.
  flushes[0]?.end();
  await first;
  await vi.waitFor(() => expect(flushes).toHaveLength(2), 20_000);
  expect(isDone).toBe(false);
  flushes[1]?.end();
  await others;
  expect(flushes).toHaveLength(2);
});

it("fails the change whose flush fails, and all that follow until the file is opened again", async () => {
  const path = await open();
  const failing = add(1);
  await vi.waitFor(() => expect(flushes).toHaveLength(1), 20_000);
  flushes[0]?.end(new Error("EIO: i/o error"));
  await expect(failing).rejects.toThrow(/can't be flushed to the disk: EIO/);
  await expect(add(2)).rejects.toThrow(/can't be flushed to the disk: EIO.*restart the service/);
  await database.close();
  database = openDatabase(`file:${path}`, "/");
  const next = add(3);
  await vi.waitFor(() => expect(flushes).toHaveLength(2), 20_000);
  flushes[1]?.end();
  await next;
});
