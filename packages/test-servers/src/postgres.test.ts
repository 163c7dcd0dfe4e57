import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "./postgres.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server?.stop());

function ask(url: string, sql: string): string {
  return execFileSync("psql", ["-X", "-A", "-t", "-d", url, "-c", sql], {
    encoding: "utf8",
    stdio: "pipe",
  }).trim();
}

it("gives each test an empty database of its own", () => {
  const [one, two] = [server.createDatabase(), server.createDatabase()];
  ask(one, "CREATE TABLE t (a int)");
  expect(ask(two, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).toBe("0");
});

it("copies a database", () => {
  const url = server.createDatabase();
  ask(url, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
  const copy = server.createDatabase(url);
  ask(copy, "UPDATE t SET a = 8");
  expect([url, copy].map((each) => ask(each, "SELECT a FROM t"))).toEqual(["7", "8"]);
});

it("removes databases, also those that a client is connected to", async () => {
  const [kept, ...gone] = [1, 2, 3].map(() => server.createDatabase());
  const client = spawn("psql", ["-X", "-d", gone[0] as string, "-c", "SELECT pg_sleep(60)"]);
  const ended = once(client, "exit");
  const isConnected = () =>
    ask(
      kept as string,
      "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'",
    );
  await expect.poll(isConnected, { timeout: 20_000 }).toBe("1");
  server.dropDatabases(gone);
  expect((await ended)[0]).not.toBe(0);
  expect(ask(kept as string, "SELECT 1")).toBe("1");
  for (const url of gone) expect(() => ask(url, "SELECT 1")).toThrow(/does not exist/);
});

it("keeps what was committed over a crash", async () => {
  const url = server.createDatabase();
  ask(url, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
  const before = server.pid;
  await server.restart("immediate");
  expect(server.pid).not.toBe(before);
  expect(ask(url, "SELECT a FROM t")).toBe("7");
});
