// Databases for benchmarks of the ledger: they write to the disk before they answer, as in production.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Charge, quota } from "sluice";
import { startPostgres } from "sluice-test-servers";
import type { Database } from "../../packages/server/dist/database/database.js";
import type { LedgerStore } from "../../packages/server/dist/ledger/ledger-store.js";

// Parts of the service that its package does not export: by their place beside the compiled benchmarks.
const dist = new URL("../../../packages/server/dist/", import.meta.url);
type Migrate = typeof import("../../packages/server/dist/database/migrate.js");
type OpenDatabase = typeof import("../../packages/server/dist/database/open-database.js");
type Store = typeof import("../../packages/server/dist/ledger/ledger-store.js");
const { migrate } = (await import(`${dist}database/migrate.js`)) as Migrate;
const { openDatabase } = (await import(`${dist}database/open-database.js`)) as OpenDatabase;
const ledger = (await import(`${dist}ledger/ledger-store.js`)) as Store;

/** An open database, and how to end it. */
export interface BenchDatabase {
  readonly database: Database;
  end(): Promise<void>;
}

/** A PostgreSQL that flushes its log at every commit. */
export async function openPostgres(): Promise<BenchDatabase> {
  const server = await startPostgres({ fsync: "on", shared_buffers: "128MB" });
  const database = openDatabase(server.createDatabase(), "/");
  await migrate(database);
  return {
    database,
    async end() {
      await database.close();
      await server.stop();
    },
  };
}

/** An SQLite file with `synchronous = FULL`. */
export async function openSqlite(): Promise<BenchDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const database = openDatabase(`file:${join(folder, "ledger.db")}`, "/");
  await migrate(database);
  return {
    database,
    async end() {
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const clock = { now: () => Date.now() };
const counter = { scope: "exports", part: 0, limit: quota({ limit: 1e12, period: "month" }) };

/** A ledger that sweeps nothing. */
export function openStore(database: Database): LedgerStore {
  return new ledger.LedgerStore(database, {
    actor: "bench",
    clock,
    sweepMs: 0,
    retryMsMax: 60_000,
  });
}

/** A charge of one unit to one of so many accounts. */
export function chargeOf(n: number, accounts: number): Charge[] {
  return [{ counter, key: `tenant:${(n * 7_919) % accounts}`, cost: 1, nowMs: Date.now() }];
}

/** Runs so many operations by so many callers, each of which waits for its answer. */
export async function runCallers(
  { operations, callers }: { operations: number; callers: number },
  operation: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < operations) await operation(next++);
  };
  await Promise.all(Array.from({ length: callers }, call));
}
