// Databases for benchmarks of the ledger: they write to the disk before they answer, as in production.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Charge, quota, type Store } from "sluice";
import { startPostgres } from "sluice-test-servers";

/** As much of a database as benchmarks use. */
export interface Database {
  query(sql: string, values?: readonly (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

interface LedgerOptions {
  readonly actor: string;
  readonly clock: { now(): number };
  readonly sweepMs: number;
  readonly retryMsMax: number;
  readonly accountsCachedMax?: number;
}

/** Parts of the service that its package does not export. */
interface LedgerModules {
  migrate(database: Database): Promise<unknown>;
  openDatabase(url: string, folder: string): Database;
  LedgerStore: new (database: Database, options: LedgerOptions) => Store;
}

async function loadLedger(): Promise<LedgerModules> {
  const names = ["database/migrate.js", "database/open-database.js", "ledger/ledger-store.js"];
  const dist = new URL("../../../packages/server/dist/", import.meta.url);
  const modules = await Promise.all(names.map((name) => import(new URL(name, dist).href)));
  return Object.assign({}, ...modules);
}

/** An open database, and how to end it. */
export interface BenchDatabase {
  readonly database: Database;
  /** A ledger in it that sweeps nothing. */
  openStore(options?: { readonly accountsCachedMax?: number }): Store;
  end(): Promise<void>;
}

/** A PostgreSQL that flushes its log at every commit. */
export async function openPostgres(): Promise<BenchDatabase> {
  const server = await startPostgres({ fsync: "on", shared_buffers: "128MB" });
  return open(server.createDatabase(), () => server.stop());
}

/** An SQLite file whose log is flushed at every commit. */
export async function openSqlite(): Promise<BenchDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  return open(`file:${join(folder, "ledger.db")}`, async () => rmSync(folder, { recursive: true }));
}

async function open(url: string, end: () => Promise<void>): Promise<BenchDatabase> {
  const { migrate, openDatabase, LedgerStore } = await loadLedger();
  const database = openDatabase(url, "/");
  await migrate(database);
  const options = { actor: "bench", clock, sweepMs: 0, retryMsMax: 60_000 };
  return {
    database,
    openStore: (more = {}) => new LedgerStore(database, { ...options, ...more }),
    async end() {
      await database.close();
      await end();
    },
  };
}

const clock = { now: () => Date.now() };
const counter = { scope: "exports", part: 0, limit: quota({ limit: 1e12, period: "month" }) };

/** A charge of one unit to one of this many accounts. */
export function chargeOf(n: number, accounts: number): Charge[] {
  return [{ counter, key: `tenant:${(n * 7_919) % accounts}`, cost: 1, nowMs: Date.now() }];
}

/** Runs this many operations by this many callers, each of which waits for its answer. */
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
