// SQLite as the database, in one file: the embedded default. One connection, on which everything waits for its turn;
// the library answers synchronously, and statements here take microseconds.

import { closeSync, openSync } from "node:fs";
import Libsql from "libsql";
import { BoundedMap } from "sluice";
import { every, pause, readMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import type { Database, Row, SqlValue, Transaction, Unsubscribe } from "./database.js";

/** How often the file is looked at for changes of other processes. */
const POLL_MS = 250;
/** How long another process may hold the file before a statement fails. */
const BUSY_MS_MAX = 5_000;
const BUSY_PAUSE_MS = 10;
/** Prepared statements that are kept: lists of rows have one for each length. */
const STATEMENTS_MAX = 1_000;

/** Opens the file, and makes it if it is not there; only its user may read it. */
export function openSqlite(path: string): Database {
  try {
    closeSync(openSync(path, "a", 0o600));
    return new SqliteDatabase(new Libsql(path));
  } catch (cause) {
    const seen = `${path}: ${(cause as Error).message}`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  readonly transactionsMax = 1;
  readonly #db: Libsql.Database;
  readonly #statements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);
  readonly #tupleStatements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);
  readonly #subscribers = new Set<() => void>();
  /** Settles when the last of those that wait has had its turn. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #stopPolling: (() => void) | undefined;

  constructor(db: Libsql.Database) {
    this.#db = db;
    // Readers don't wait for writers, and a commit is on the disk when it returns.
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    db.exec("PRAGMA foreign_keys = ON");
  }

  query<R extends Row>(sql: string, values: readonly SqlValue[] = []): Promise<R[]> {
    return this.#inTurn(() => this.#whenFree(() => this.#run<R>(sql, values)));
  }

  queryTuples<T extends readonly SqlValue[]>(
    sql: string,
    values: readonly SqlValue[] = [],
  ): Promise<T[]> {
    return this.#inTurn(() =>
      // A statement gives rows of one kind, so there is another one for lists.
      this.#whenFree(() => this.#run(sql, values, this.#tupleStatements) as unknown as T[]),
    );
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      let isAnnounced = false;
      const tx: Transaction = {
        query: async (sql, values = []) => this.#run(sql, values),
        // The transaction has the whole file.
        lock: async (sql, values = []) => this.#run(sql, values),
        execute: async (script) => this.#exec(script),
        announce: async () => {
          isAnnounced = true;
        },
      };
      await this.#whenFree(() => this.#exec("BEGIN IMMEDIATE"));
      let result: T;
      try {
        result = await work(tx);
        this.#exec("COMMIT");
      } catch (error) {
        this.#exec("ROLLBACK");
        throw error;
      }
      if (isAnnounced) this.#notify();
      return result;
    });
  }

  subscribe(onChange: () => void): Unsubscribe {
    this.#subscribers.add(onChange);
    this.#stopPolling ??= this.#poll();
    return () => {
      this.#subscribers.delete(onChange);
      if (this.#subscribers.size === 0) this.#endPolling();
    };
  }

  async close(): Promise<void> {
    this.#endPolling();
    await this.#inTurn(async () => this.#db.close());
  }

  /** Transactions of other processes show in `data_version`, which ours don't change. */
  #poll(): () => void {
    let seen: SqlValue | undefined;
    return every(POLL_MS, () => {
      void this.query("PRAGMA data_version").then(
        ([row]) => {
          if (seen !== undefined && row?.data_version !== seen) this.#notify();
          seen = row?.data_version;
        },
        () => {}, // The next statement that matters reports it.
      );
    });
  }

  #endPolling(): void {
    this.#stopPolling?.();
    this.#stopPolling = undefined;
  }

  #notify(): void {
    for (const onChange of this.#subscribers) onChange();
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(task);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }

  async #whenFree<T>(task: () => T): Promise<T> {
    const endMs = readMs() + BUSY_MS_MAX;
    for (;;) {
      try {
        return task();
      } catch (error) {
        if (!isBusy(error) || readMs() >= endMs) throw error;
      }
      await pause(BUSY_PAUSE_MS);
    }
  }

  #run<R extends Row>(
    sql: string,
    values: readonly SqlValue[],
    statements: BoundedMap<string, Prepared> = this.#statements,
  ): R[] {
    try {
      let prepared = statements.get(sql);
      if (prepared === undefined) {
        prepared = prepare(this.#db, sql);
        if (statements === this.#tupleStatements) prepared.statement.raw(true);
        statements.set(sql, prepared);
      }
      const { statement, order } = prepared;
      return statement.all(order.map((place) => values[place] ?? null)) as R[];
    } catch (cause) {
      throw toError(cause);
    }
  }

  #exec(script: string): void {
    try {
      this.#db.exec(script);
    } catch (cause) {
      throw toError(cause);
    }
  }
}

interface Prepared {
  readonly statement: Libsql.Statement;
  /** For each `?`, in their order, which of the values it is. */
  readonly order: readonly number[];
}

function prepare(db: Libsql.Database, sql: string): Prepared {
  const order: number[] = [];
  const text = sql.replace(/\$(\d+)/g, (_, place: string) => {
    order.push(Number(place) - 1);
    return "?";
  });
  return { statement: db.prepare(text), order };
}

function toError(cause: unknown): ServerError {
  const code = isBusy(cause) ? "SLUICE_DATABASE_UNAVAILABLE" : "SLUICE_DATABASE_FAILED";
  return new ServerError(code, (cause as Error).message, { cause });
}

function isBusy(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === "SQLITE_BUSY" || (cause !== undefined && isBusy(cause));
}
