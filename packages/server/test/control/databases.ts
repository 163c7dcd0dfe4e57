// The databases that every test of the control plane runs on: an SQLite file, and a real PostgreSQL.

import { join } from "node:path";
import { makeFolder, type PostgresServer, startPostgres } from "sluice-test-servers";
import type { Database } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrate.js";
import { openDatabase } from "../../src/database/open-database.js";

/** A kind of database for tests. Call `stop` when the tests of a file are over. */
export interface TestDatabases {
  readonly name: string;
  /** The URL of a new, empty database. */
  create(): Promise<string>;
  /** Opens a database by its URL; `stop` closes it. */
  open(url: string): Database;
  /** Opens a new database with the schema of this version. */
  ready(): Promise<Database>;
  stop(): Promise<void>;
}

/** Both kinds; a server is started when the first database of it is made. */
export function testDatabases(): readonly TestDatabases[] {
  return [sqlite(), postgres()];
}

function sqlite(): TestDatabases {
  const folder = makeFolder("sqlite");
  let files = 0;
  return withOpen(
    "SQLite",
    async () => `file:${join(folder, `${++files}.db`)}`,
    async () => {},
  );
}

function postgres(): TestDatabases {
  let server: Promise<PostgresServer> | undefined;
  return withOpen(
    "PostgreSQL",
    async () => {
      server ??= startPostgres();
      return (await server).createDatabase();
    },
    async () => (await server)?.stop(),
  );
}

function withOpen(
  name: string,
  create: () => Promise<string>,
  end: () => Promise<void>,
): TestDatabases {
  const opened: Database[] = [];
  const open = (url: string) => {
    const database = openDatabase(url, "/");
    opened.push(database);
    return database;
  };
  return {
    name,
    create,
    open,
    async ready() {
      const database = open(await create());
      await migrate(database);
      return database;
    },
    async stop() {
      await Promise.all(opened.splice(0).map((database) => database.close()));
      await end();
    },
  };
}
