// The databases that every test of the control plane runs on: an SQLite file, and a real PostgreSQL.

import { join } from "node:path";
import { makeFolder, type PostgresServer, startPostgres } from "sluice-test-servers";
import type { Database } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrate.js";
import { openDatabase } from "../../src/database/open-database.js";

/** A kind of database for tests. Call `stop` when the tests of a file are over: its databases go. */
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
  return withOpen("SQLite", {
    create: async () => `file:${join(folder, `${++files}.db`)}`,
    async end() {},
  });
}

// All test files that run in a process share a server, which ends with the process, and a database with the schema:
// copies of it are quicker to make than others are to migrate.
let server: Promise<PostgresServer> | undefined;
let template: Promise<string> | undefined;

function postgres(): TestDatabases {
  const urls: string[] = [];
  const createFrom = async (copied?: string) => {
    server ??= startPostgres();
    const url = (await server).createDatabase(copied);
    urls.push(url);
    // Many callers share few connections here, and a busy machine is not a failure.
    return `${url}?connect_timeout=60`;
  };
  return withOpen("PostgreSQL", {
    create: () => createFrom(),
    async createReady() {
      server ??= startPostgres();
      template ??= server.then((it) => migrateAt(it.createDatabase()));
      return createFrom(await template);
    },
    async end() {
      if (urls.length > 0) (await server)?.dropDatabases(urls.splice(0));
    },
  });
}

/** Gives a database the schema, and returns its URL. */
async function migrateAt(url: string): Promise<string> {
  const database = openDatabase(url, "/");
  await migrate(database);
  await database.close();
  return url;
}

/** How databases of a kind are made, and what ends them once they are closed. */
interface Making {
  create(): Promise<string>;
  /** Makes one with the schema. Default: an empty one is migrated. */
  createReady?(): Promise<string>;
  end(): Promise<void>;
}

function withOpen(name: string, { create, createReady, end }: Making): TestDatabases {
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
      if (createReady !== undefined) return open(await createReady());
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
