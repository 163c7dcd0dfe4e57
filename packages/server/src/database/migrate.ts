// Brings a database to the schema that this version needs. Migrations are numbered and only move forward; each is
// applied once, whole or not at all, and a checksum shows that it is still what was applied. Nodes that start
// together wait for each other.

import { wallMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import type { Database, Transaction } from "./database.js";
import { type Migration, migrations as ours } from "./migrations/migrations.js";

const TABLE = `CREATE TABLE IF NOT EXISTS sluice_migrations (
  number BIGINT PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at_ms BIGINT NOT NULL
)`;

/**
 * Applies what is missing, and returns the names of what was applied. A server that is too old is left as it is.
 *
 * @param migrations - In their order. Default: those of this version.
 * @throws ServerError `SLUICE_MIGRATION_INVALID` if the database has a migration that this version does not know, or
 *   knows with other statements; `SLUICE_DATABASE_UNSUPPORTED` if its server is too old.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = ours,
): Promise<string[]> {
  await database.checkVersion();
  return database.transaction(
    async (tx) => {
      await tx.execute(TABLE);
      const applied = await readApplied(tx);
      checkApplied(applied, migrations);
      const missing = migrations.filter(({ number }) => !applied.has(number));
      for (const { number, name, checksum, sql } of missing) {
        await tx.execute(sql);
        await tx.query("INSERT INTO sluice_migrations VALUES ($1, $2, $3, $4)", [
          number,
          name,
          checksum,
          wallMs(),
        ]);
      }
      return missing.map(({ name }) => name);
    },
    { exclusive: true },
  );
}

async function readApplied(tx: Transaction): Promise<Map<number, string>> {
  const rows = await tx.query<{ number: number; checksum: string }>(
    "SELECT number, checksum FROM sluice_migrations ORDER BY number",
  );
  return new Map(rows.map(({ number, checksum }) => [number, checksum]));
}

function checkApplied(
  applied: ReadonlyMap<number, string>,
  migrations: readonly Migration[],
): void {
  const known = new Map(migrations.map(({ number, checksum }) => [number, checksum]));
  for (const [number, checksum] of applied) {
    if (!known.has(number)) {
      fail(
        `the database has migration ${number}, which this version does not know; use a newer version of Sluice`,
      );
    }
    if (known.get(number) !== checksum) {
      fail(
        `migration ${number} was applied with other statements; restore the database or the version that made it`,
      );
    }
  }
}

function fail(seen: string): never {
  throw new ServerError("SLUICE_MIGRATION_INVALID", seen);
}
