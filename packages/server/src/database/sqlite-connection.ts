// One connection to an SQLite file. The library answers synchronously; turns.ts decides which task may use the
// connection when.

import type Libsql from "libsql";
import { BoundedMap } from "sluice";
import { ServerError } from "../base/errors.js";
import { loadModule } from "../base/files/load-module.js";
import type { GroupStatement, Row, SqlValue } from "./database.js";

/** Prepared statements that are kept: lists of rows have one for each length. */
const STATEMENTS_MAX = 1_000;
/** The log is copied to the database when it has this many pages: 32 MB. SQLite's own default is 4 MB. */
const CHECKPOINT_PAGES = 8_000;

interface Prepared {
  readonly statement: Libsql.Statement;
  readonly isReader: boolean;
  /** For each `?`, in their order, which of the values it is. */
  readonly order: readonly number[];
}

/** A connection. What fails is a ServerError. */
export class SqliteConnection {
  readonly #db: Libsql.Database;
  readonly #statements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);
  readonly #tupleStatements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);

  constructor(path: string) {
    const Driver = loadModule<typeof Libsql>("libsql");
    this.#db = new Driver(path);
    // Readers don't wait for writers. A commit is in the log when it returns; the log is flushed elsewhere.
    this.#db.exec("PRAGMA journal_mode = WAL");
    this.#db.exec("PRAGMA synchronous = NORMAL");
    this.#db.exec("PRAGMA foreign_keys = ON");
    // A page that many transactions change is copied from the log to the database once for all of them.
    this.#db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  }

  query<R extends Row>(sql: string, values: readonly SqlValue[]): R[] {
    return this.#run(sql, values, this.#statements) as R[];
  }

  /** Each row as the list of its columns. */
  queryTuples<T>(sql: string, values: readonly SqlValue[]): T[] {
    // A statement gives rows of one kind, so there is another one for lists.
    return this.#run(sql, values, this.#tupleStatements) as T[];
  }

  /** Runs statements in one transaction. Returns whether they were kept: all, or none if one has other rows than it must. */
  runGroup(group: readonly GroupStatement[]): boolean {
    this.exec("BEGIN IMMEDIATE");
    try {
      const isKept = group.every(
        ({ sql, values, rows }) => this.#count(sql, values) === rows || rows === undefined,
      );
      this.exec(isKept ? "COMMIT" : "ROLLBACK");
      return isKept;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** Ends a transaction that failed, if what failed has not ended it. */
  rollBack(): void {
    if (this.#db.inTransaction) this.exec("ROLLBACK");
  }

  exec(script: string): void {
    try {
      this.#db.exec(script);
    } catch (cause) {
      throw toError(cause);
    }
  }

  close(): void {
    this.#db.close();
  }

  /** How many rows a statement returns or, if it returns none, changes. */
  #count(sql: string, values: readonly SqlValue[]): number {
    try {
      const { statement, isReader, order } = this.#prepare(sql, this.#statements);
      const bound = order.map((place) => values[place] ?? null);
      return isReader ? statement.all(bound).length : statement.run(bound).changes;
    } catch (cause) {
      throw toError(cause);
    }
  }

  #run(
    sql: string,
    values: readonly SqlValue[],
    statements: BoundedMap<string, Prepared>,
  ): unknown[] {
    try {
      const { statement, isReader, order } = this.#prepare(sql, statements);
      const bound = order.map((place) => values[place] ?? null);
      if (isReader) return statement.all(bound);
      statement.run(bound);
      return [];
    } catch (cause) {
      throw toError(cause);
    }
  }

  #prepare(sql: string, statements: BoundedMap<string, Prepared>): Prepared {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const order: number[] = [];
    const text = sql.replace(/\$(\d+)/g, (_, place: string) => {
      order.push(Number(place) - 1);
      return "?";
    });
    const statement = this.#db.prepare(text);
    if (statements === this.#tupleStatements) statement.raw(true);
    const prepared = { statement, isReader: statement.reader, order };
    statements.set(sql, prepared);
    return prepared;
  }
}

function toError(cause: unknown): ServerError {
  const code = isBusy(cause) ? "SLUICE_DATABASE_UNAVAILABLE" : "SLUICE_DATABASE_FAILED";
  return new ServerError(code, (cause as Error).message, { cause });
}

/** Whether another process, or another connection of this one, has the file. */
export function isBusy(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === "SQLITE_BUSY" || (cause !== undefined && isBusy(cause));
}
