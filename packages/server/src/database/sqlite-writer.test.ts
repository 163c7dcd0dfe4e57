// Over the built package: threads are started from files.

import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "sluice-test-servers";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { Database, GroupStatement } from "./database.js";
import type * as opening from "./open-database.js";
import type * as writing from "./sqlite-writer.js";

const built = (name: string) =>
  fileURLToPath(new URL(`../../dist/database/${name}`, import.meta.url));
const ADD = "INSERT INTO t (n) SELECT value FROM json_each($1)";
const DELETE = "DELETE FROM t WHERE n IN (SELECT value FROM json_each($1))";

let open: typeof opening.openDatabase;
let SqliteWriter: typeof writing.SqliteWriter;
let path: string;
let database: Required<Database>;

beforeAll(async () => {
  if (!existsSync(built("sqlite-writer-thread.js"))) {
    throw new Error("packages/server/dist is missing: run npm run build");
  }
  ({ openDatabase: open } = await import(built("open-database.js")));
  ({ SqliteWriter } = await import(built("sqlite-writer.js")));
});

beforeEach(async () => {
  path = join(makeFolder("writer"), "a.db");
  database = open(`file:${path}`, "/") as Required<Database>;
  await database.query("CREATE TABLE t (n INTEGER PRIMARY KEY)");
});
afterEach(() => database.close());

const add = (...numbers: number[]): GroupStatement => ({
  sql: ADD,
  values: [JSON.stringify(numbers)],
});
const remove = (rows: number, ...numbers: number[]): GroupStatement => ({
  sql: DELETE,
  values: [JSON.stringify(numbers)],
  rows,
});
const numbers = async () => (await database.query("SELECT n FROM t ORDER BY n")).map(({ n }) => n);

it.each([true, false])(
  "keeps a group whose rows are as they must be (large: %s)",
  async (isLarge) => {
    expect(await database.runGroup([add(1, 2, 3), remove(2, 1, 2)], isLarge)).toBe(true);
    expect(await numbers()).toEqual([3]);
  },
);

it.each([true, false])("keeps nothing of a group with other rows (large: %s)", async (isLarge) => {
  await database.runGroup([add(1)], isLarge);
  expect(await database.runGroup([add(2, 3), remove(2, 1, 9), add(4)], isLarge)).toBe(false);
  const select = { sql: "SELECT n FROM t", values: [], rows: 0 };
  expect(await database.runGroup([select, add(5)], isLarge)).toBe(false);
  expect(await numbers()).toEqual([1]);
});

it.each([true, false])(
  "keeps nothing of a group that fails, and goes on (large: %s)",
  async (isLarge) => {
    const failing = database.runGroup([add(1), add(1)], isLarge);
    await expect(failing).rejects.toMatchObject({ code: "SLUICE_DATABASE_FAILED" });
    await expect(failing).rejects.toThrow(/UNIQUE constraint failed/);
    expect(await database.runGroup([add(2)], isLarge)).toBe(true);
    expect(await numbers()).toEqual([2]);
  },
);

it("runs groups, transactions and statements in the order in which they came", async () => {
  const seen: unknown[] = [];
  const steps = Array.from({ length: 20 }, (_, n) => [
    database.runGroup([add(3 * n)], true),
    database.transaction(async (tx) => {
      seen.push(Number((await tx.query("SELECT COUNT(*) AS n FROM t"))[0]?.n));
      await tx.query("INSERT INTO t (n) VALUES ($1)", [3 * n + 1]);
    }),
    database.runGroup([add(3 * n + 2)], true),
  ]).flat();
  await Promise.all(steps);
  expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => 3 * n + 1));
  expect(await numbers()).toHaveLength(60);
});

it("fails the groups of a thread that can't start as unavailable, and starts another one", async () => {
  const writer = new SqliteWriter({ path: "/dev/null/none.db", busyMsMax: 100 });
  for (const attempt of [1, 2]) {
    const failing = writer.runGroup([add(attempt)]);
    await expect(failing).rejects.toMatchObject({ code: "SLUICE_DATABASE_UNAVAILABLE" });
  }
  await writer.close();
});

it("writes what it was given before it closes", async () => {
  const writer = new SqliteWriter({ path, busyMsMax: 5_000 });
  const groups = [1, 2, 3].map((n) => writer.runGroup([add(n)]));
  await writer.close();
  expect(await Promise.all(groups)).toEqual([true, true, true]);
  expect(await numbers()).toEqual([1, 2, 3]);
});

it("lets a process that closes it go on afterwards", () => {
  const program = `
    import { openDatabase } from ${JSON.stringify(built("open-database.js"))};
    const database = openDatabase(${JSON.stringify(`file:${path}`)}, "/");
    await database.runGroup([${JSON.stringify(add(1))}], true);
    await database.close();
    console.log("closed");
  `;
  const file = `${path}.mjs`;
  writeFileSync(file, program);
  expect(execFileSync(process.execPath, [file], { encoding: "utf8" })).toBe("closed\n");
});

it("waits for another connection that has the file", async () => {
  const other = open(`file:${path}`, "/");
  let isEnded = false;
  let end = () => {};
  const held = other.transaction(async (tx) => {
    await tx.query("INSERT INTO t (n) VALUES (1)");
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    isEnded = true;
  });
  const group = database.runGroup([remove(1, 1)], true).then((isKept) => {
    expect(isEnded).toBe(true);
    return isKept;
  });
  setTimeout(() => end(), 50);
  await held;
  expect(await group).toBe(true);
  await other.close();
});
