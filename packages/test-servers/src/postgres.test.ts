import { execFileSync } from "node:child_process";
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
  }).trim();
}

it("gives each test an empty database of its own", () => {
  const [one, two] = [server.createDatabase(), server.createDatabase()];
  ask(one, "CREATE TABLE t (a int)");
  expect(ask(two, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).toBe("0");
});

it("keeps what was committed over a crash", async () => {
  const url = server.createDatabase();
  ask(url, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
  const before = server.pid;
  await server.restart("immediate");
  expect(server.pid).not.toBe(before);
  expect(ask(url, "SELECT a FROM t")).toBe("7");
});
