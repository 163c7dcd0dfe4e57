// How many entries of the ledger are verified in a second: read from the database, hashed and checked, by as many threads
// as there are processors.

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "sluice-test-servers";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";

const ACCOUNTS = effort({ full: 300, quick: 20 });
const ENTRIES_EACH = effort({ full: 1_000, quick: 50 });
const ROUNDS = effort({ full: 5, quick: 2 });
const THREADS = availableParallelism();
const INSERT_ROWS = 2_000;
const START_MS = Date.UTC(2026, 4, 1);

type Value = string | number | null;

interface Database {
  query(sql: string, values?: readonly Value[]): Promise<unknown>;
  transaction<T>(work: (tx: Database) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Report {
  readonly entries: number;
  readonly problemCount: number;
}

/** Parts of the service that its package does not export. */
interface Modules {
  migrate(database: Database): Promise<unknown>;
  openDatabase(url: string, folder: string): Database;
  verifyInThreads(url: string, options: { readonly threads: number }): Promise<Report>;
  accountIdOf(name: object): string;
}

const dist = new URL("../../../packages/server/dist/", import.meta.url);
const load = async (): Promise<Modules> =>
  Object.assign(
    {},
    ...(await Promise.all(
      [
        "database/migrate.js",
        "database/open-database.js",
        "ledger/verify/verify-in-threads.js",
        "ledger/accounts/account-id.js",
      ].map((name) => import(new URL(name, dist).href)),
    )),
  );

type Rates = Readonly<Record<"sqlite" | "postgres", readonly number[]>>;

export const ledgerVerify: Bench<Rates> = {
  id: "ledger/verify",
  unit: "entries/s",
  bound: { is: "at least", goal: 500_000 },
  parts: ["all"],
  runPart: measure,
  conclude: ([{ sqlite, postgres }]) => [
    { subject: `SQLite, ${THREADS} threads`, ...summarise(sqlite) },
    { subject: `PostgreSQL, ${THREADS} threads`, ...summarise(postgres) },
  ],
};

async function measure(): Promise<Rates> {
  const modules = await load();
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const server = await startPostgres();
  try {
    const sqlite = await measureOne(modules, `file:${join(folder, "ledger.db")}`);
    const postgres = await measureOne(modules, server.createDatabase());
    return { sqlite, postgres };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

async function measureOne(modules: Modules, url: string): Promise<readonly number[]> {
  const database = modules.openDatabase(url, "/");
  await modules.migrate(database);
  await fill(database, modules);
  const rates: number[] = [];
  // The first round is dropped: it brings the entries into the cache.
  for (let round = -1; round < ROUNDS; round++) {
    const startMs = performance.now();
    const { entries, problemCount } = await modules.verifyInThreads(url, { threads: THREADS });
    if (entries !== ACCOUNTS * ENTRIES_EACH || problemCount > 0)
      throw new Error(`${entries} entries with ${problemCount} problems`);
    if (round >= 0) rates.push((entries / (performance.now() - startMs)) * 1_000);
  }
  await database.close();
  return rates;
}

async function fill(database: Database, { accountIdOf }: Modules): Promise<void> {
  await database.transaction(async (tx) => {
    let waiting: Value[][] = [];
    const flush = async () => {
      if (waiting.length > 0) await insert(tx, "ledger_entries", waiting);
      waiting = [];
    };
    for (let n = 0; n < ACCOUNTS; n++) {
      const name = { meter: "exports", part: 0, subject: `tenant:${n}`, startsAtMs: START_MS };
      const entries = toEntries(accountIdOf(name));
      await insert(tx, "ledger_accounts", [toAccount(name, entries)]);
      for (const entry of entries) {
        waiting.push(entry);
        if (waiting.length === INSERT_ROWS) await flush();
      }
    }
    await flush();
  });
}

function insert(tx: Database, table: string, rows: readonly Value[][]): Promise<unknown> {
  const width = rows[0]?.length ?? 0;
  const places = rows.map(
    (row, r) => `(${row.map((_, column) => `$${r * width + column + 1}`).join(", ")})`,
  );
  return tx.query(`INSERT INTO ${table} VALUES ${places.join(", ")}`, rows.flat());
}

/** A grant, then uses of one unit. */
function toEntries(id: string): Value[][] {
  const entries: Value[][] = [];
  let hash = "";
  for (let sequence = 1; sequence <= ENTRIES_EACH; sequence++) {
    const [kind, amount] = sequence === 1 ? ["grant", ENTRIES_EACH] : ["use", -1];
    const balance = ENTRIES_EACH - sequence + 1;
    const key = sequence === 1 ? "open" : `request:3f0c9a6e-${sequence}`;
    const atMs = START_MS + sequence;
    const entry = [id, sequence, kind, amount, balance, key, null, "node-1", atMs, null, hash];
    entries.push(entry as Value[]);
    hash = hashOf(entry as Value[]);
  }
  return entries;
}

function toAccount(
  {
    meter,
    part,
    subject,
    startsAtMs,
  }: Record<"meter" | "subject", string> & Record<"part" | "startsAtMs", number>,
  entries: readonly Value[][],
): Value[] {
  const last = entries.at(-1) as Value[];
  const grants = [{ sequence: 1, amount: ENTRIES_EACH, left: last[4], expiresAtMs: START_MS }];
  const state = JSON.stringify({ grants, debt: 0 });
  const quota = ENTRIES_EACH;
  const end = [quota, last[4] as number, state, last[1] as number, hashOf(last)];
  return [last[0] as string, meter, part, subject, startsAtMs, START_MS + 1, ...end];
}

function hashOf(entry: readonly Value[]): string {
  return createHash("sha256").update(JSON.stringify(entry)).digest("base64url");
}
