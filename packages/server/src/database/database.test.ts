import { once } from "node:events";
import { statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, it, vi } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { startOldPostgres } from "../../test/control/old-postgres.js";
import { migrate } from "./migrate.js";
import { migrations } from "./migrations/migrations.js";
import { openDatabase } from "./open-database.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("a database in $name", (databases) => {
  async function withTable() {
    const url = await databases.create();
    const database = databases.open(url);
    await database.transaction((tx) => tx.execute("CREATE TABLE t (a BIGINT, b TEXT)"));
    return { url, database };
  }

  it("takes and gives strings, numbers up to 2^53 and null, each value where its number stands", async () => {
    const { database } = await withTable();
    const insert = "INSERT INTO t (b, a) VALUES ($2, $1)";
    await database.query(insert, [2 ** 53 - 1, "it's $1 \u{1f512}"]);
    await database.query(insert, [-1, null]);
    expect(
      await database.query("SELECT a, b FROM t WHERE a = $1 OR a < $1 ORDER BY a", [2 ** 53 - 1]),
    ).toEqual([
      { a: -1, b: null },
      { a: 2 ** 53 - 1, b: "it's $1 \u{1f512}" },
    ]);
  });

  it("gives rows as objects and as lists, of the same statement", async () => {
    const { database } = await withTable();
    await database.query("INSERT INTO t VALUES (1, 'one'), (2, NULL)");
    const sql = "SELECT b, a FROM t WHERE a <= $1 ORDER BY a";
    for (let round = 0; round < 2; round++) {
      expect(await database.query(sql, [2])).toEqual([
        { b: "one", a: 1 },
        { b: null, a: 2 },
      ]);
      expect(await database.queryTuples(sql, [2])).toEqual([
        ["one", 1],
        [null, 2],
      ]);
    }
    await expect(database.queryTuples("SELECT a FROM nowhere")).rejects.toMatchObject({
      code: "SLUICE_DATABASE_FAILED",
    });
  });

  it("keeps all of a transaction that resolves, and nothing of one that rejects", async () => {
    const { database } = await withTable();
    await database.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (1, 'kept')");
    });
    const failed = database.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (2, 'lost')");
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await database.query("SELECT a FROM t")).toEqual([{ a: 1 }]);
  });

  it("says what the database said of a statement that fails, and goes on", async () => {
    const { database } = await withTable();
    const failing = [
      () => database.query("SELECT a FROM nowhere"),
      () => database.transaction((tx) => tx.query("SELECT a FROM nowhere")),
    ];
    for (const ask of failing) {
      await expect(ask()).rejects.toMatchObject({
        code: "SLUICE_DATABASE_FAILED",
        message: expect.stringContaining("nowhere"),
      });
    }
    expect(await database.query("SELECT a FROM t")).toEqual([]);
  });

  it("hands on what a transaction's work throws, whatever it looks like", async () => {
    const { database } = await withTable();
    const thrown = Object.assign(new Error("not the database's"), { code: "ECONNRESET" });
    const work = vi.fn(async () => {
      throw thrown;
    });
    await expect(database.transaction(work)).rejects.toBe(thrown);
    expect(work).toHaveBeenCalledTimes(1);
    expect(await database.query("SELECT a FROM t")).toEqual([]);
  });

  it("keeps transactions that run at the same time apart", async () => {
    const { database } = await withTable();
    await database.query("INSERT INTO t VALUES (0, 'n')");
    const increments = Array.from({ length: 20 }, () =>
      database.transaction(async (tx) => {
        await tx.query("UPDATE t SET a = a WHERE b = 'n'");
        const [row] = await tx.query<{ a: number }>("SELECT a FROM t WHERE b = 'n'");
        await tx.query("UPDATE t SET a = $1 WHERE b = 'n'", [(row?.a ?? 0) + 1]);
      }),
    );
    await Promise.all(increments);
    expect(await database.query("SELECT a FROM t")).toEqual([{ a: 20 }]);
  });

  it("notifies subscribers of an announced transaction, in this process and over other connections", async () => {
    const { url, database } = await withTable();
    const other = databases.open(url);
    const [here, there] = [vi.fn(), vi.fn()];
    database.subscribe(here);
    const unsubscribe = other.subscribe(there);
    await new Promise((resolve) => setTimeout(resolve, 600)); // both listen by now
    here.mockClear();
    there.mockClear();
    await database.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (1, 'x')");
      await tx.announce();
    });
    await vi.waitFor(
      () => expect([here.mock.calls.length > 0, there.mock.calls.length > 0]).toEqual([true, true]),
      5_000,
    );
    unsubscribe();
    there.mockClear();
    await database.transaction((tx) => tx.announce());
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(there).not.toHaveBeenCalled();
  });

  it("is migrated once by several nodes that start together", async () => {
    const url = await databases.create();
    const applied = await Promise.all([1, 2, 3].map(() => migrate(databases.open(url))));
    expect(applied.flat()).toEqual(migrations.map(({ name }) => name));
    expect(await migrate(databases.open(url))).toEqual([]);
  });

  it("applies a migration whole or not at all", async () => {
    const database = await databases.ready();
    const next = migrations.length + 1;
    const broken = {
      number: next,
      name: "broken",
      checksum: "c",
      sql: "CREATE TABLE half (a BIGINT); CREATE TABLE nonsense (;",
    };
    await expect(migrate(database, [...migrations, broken])).rejects.toThrow();
    await expect(database.query("SELECT a FROM half")).rejects.toThrow("half");
    const mended = { ...broken, sql: "CREATE TABLE half (a BIGINT)" };
    expect(await migrate(database, [...migrations, mended])).toEqual(["broken"]);
  });

  it("refuses a database that a newer version made, or whose migrations were other ones", async () => {
    const database = await databases.ready();
    await expect(migrate(database, [])).rejects.toMatchObject({
      code: "SLUICE_MIGRATION_INVALID",
      message: expect.stringContaining("use a newer version"),
    });
    const changed = migrations.map((migration) => ({ ...migration, checksum: "other" }));
    await expect(migrate(database, changed)).rejects.toThrow("was applied with other statements");
  });
});

describe("a PostgreSQL server", () => {
  it.each([
    { name: "13.18 (Debian 13.18-1.pgdg120+1)", release: "130018", seen: "PostgreSQL 13.18," },
    { name: "9.6.24", release: "90624", seen: "PostgreSQL 9.6.24," },
  ])("of version $name is refused, and asked nothing else", async ({ seen, ...version }) => {
    const server = await startOldPostgres(version);
    const database = openDatabase(server.url, "/");
    await expect(migrate(database)).rejects.toMatchObject({
      code: "SLUICE_DATABASE_UNSUPPORTED",
      message: expect.stringContaining(`it is ${seen} and Sluice needs PostgreSQL 14 or newer`),
    });
    expect(server.statements).toEqual([expect.stringContaining("server_version_num")]);
    await database.close();
    await server.close();
  });

  it.each([
    { name: "14.0", release: "140000" },
    { name: "17.6 (Debian 17.6-0+deb13u1)", release: "170006" },
  ])("of version $name is supported", async (version) => {
    const server = await startOldPostgres(version);
    const database = openDatabase(server.url, "/");
    await database.checkVersion();
    await database.close();
    await server.close();
  });
});

describe("openDatabase", () => {
  it("makes a file that only its user may read", async () => {
    const [sqlite] = all;
    const url = await sqlite?.create();
    sqlite?.open(url ?? "");
    expect(statSync((url ?? "").slice("file:".length)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["mysql://user:secret@host/db", 'a URL that begins with "mysql:"'],
    ["sluice.db", "a URL without a scheme"],
    ["file:", 'a URL that begins with "file:"'],
  ])("refuses %s and shows nothing secret of it", (url, seen) => {
    expect(() => openDatabase(url, "/")).toThrow(seen);
    expect(() => openDatabase(url, "/")).not.toThrow("secret");
  });

  it("says which file can't be opened", () => {
    expect(() => openDatabase("file:/nowhere/sluice.db", "/")).toThrow("/nowhere/sluice.db");
  });
});

describe("a PostgreSQL that accepts connections and says nothing", () => {
  it("is waited for as long as connect_timeout of its URL says", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const url = `postgres://sluice@127.0.0.1:${port}/none`;
    const waits = ["connect_timeout=2", "sslmode=disable&connect_timeout=1"].map(async (each) => {
      const database = openDatabase(`${url}?${each}`, "/");
      await expect(database.query("SELECT 1")).rejects.toMatchObject({
        code: "SLUICE_DATABASE_UNAVAILABLE",
      });
      await database.close();
      return each;
    });
    expect(await Promise.race(waits)).toContain("connect_timeout=1");
    await Promise.all(waits);
    silent.close();
  });
});
