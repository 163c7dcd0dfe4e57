// The export of a large ledger, in constant memory: a million entries are written to an SQLite file and to a PostgreSQL,
// verified, and exported over the admin API's own code in each format, while the heap is watched. Garbage is collected
// before each look, so that what is counted is held. Over the built package:
// `node --expose-gc packages/server/test/soak/export-soak.mjs 1000000`. Prints one line of JSON for each database.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quota } from "sluice";
import { startPostgres } from "sluice-test-servers";
import { migrate } from "../../dist/database/migrate.js";
import { openDatabase } from "../../dist/database/open-database.js";
import { LedgerStore } from "../../dist/ledger/ledger-store.js";
import { EXPORT_FORMATS, toExport } from "../../dist/ledger/queries/entry-export.js";
import { LedgerReader } from "../../dist/ledger/queries/ledger-reader.js";

/** What an export may hold beyond what was held before it: a page of entries and the text that is made of it. */
const HELD_BYTES_MAX = 16_000_000;
const ACCOUNTS = 1_000;
/** Requests that are charged together. */
const TOGETHER = 2_000;
/** Pieces between two looks at the heap. */
const LOOK_PIECES = 50;

const entries = Number(process.argv[2] ?? 1_000_000);
await soakSqlite();
await soakPostgres();

async function soakSqlite() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-export-soak-"));
  try {
    await soak("SQLite", `file:${join(folder, "ledger.db")}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function soakPostgres() {
  const server = await startPostgres();
  try {
    await soak("PostgreSQL", server.createDatabase());
  } finally {
    await server.stop();
  }
}

async function soak(name, url) {
  const database = openDatabase(url, "/");
  try {
    await migrate(database);
    await fill(database);
    const reader = new LedgerReader(database, url);
    const filter = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    const count = await reader.countEntries(filter);
    const report = await reader.verify();
    const formats = {};
    for (const format of EXPORT_FORMATS) formats[format] = await exportAll(reader, filter, format);
    const line = { database: name, entries: count, problems: report.problemCount, formats };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    const all = Object.values(formats);
    const isFlat = all.every(({ heldBytesMax }) => heldBytesMax <= HELD_BYTES_MAX);
    const isWhole = all.every(({ lines }) => Math.abs(lines - count) <= 2);
    if (count >= entries && report.problemCount === 0 && isFlat && isWhole) return;
    process.stderr.write(
      `${name}: the ledger is not whole, or its export is not in constant memory\n`,
    );
    process.exitCode = 1;
  } finally {
    await database.close();
  }
}

async function fill(database) {
  const clock = { now: () => Date.now() };
  const store = new LedgerStore(database, { actor: "soak", clock, sweepMs: 0 });
  const limit = quota({ limit: 1_000_000_000, period: "month" });
  const counter = { scope: "exports", part: 0, limit };
  for (let made = 0; made < entries; made += TOGETHER) {
    const charges = Array.from({ length: TOGETHER }, (_, i) =>
      store.decide([{ counter, key: `tenant:${(made + i) % ACCOUNTS}`, cost: 1, nowMs: Date.now() }]),
    );
    await Promise.all(charges);
  }
  await store.close();
}

async function exportAll(reader, filter, format) {
  const started = performance.now();
  const before = heldBytes();
  let [bytes, lines, pieces, heldBytesMax] = [0, 0, 0, 0];
  for await (const piece of toExport(reader.entryPages(filter), format)) {
    bytes += piece.length;
    for (let at = piece.indexOf("\n"); at >= 0; at = piece.indexOf("\n", at + 1)) lines++;
    if (pieces++ % LOOK_PIECES === 0) heldBytesMax = Math.max(heldBytesMax, heldBytes() - before);
  }
  return { lines, bytes, heldBytesMax, ms: Math.round(performance.now() - started) };
}

function heldBytes() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
