// SQLite as the database, in one file: the embedded default. One connection, on which everything waits for its turn;
// the library answers synchronously, and statements here take microseconds. Only the flush to the disk would take long,
// so it is not SQLite's: it happens beside decisions, one for all that was committed before it began.

import { closeSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import type Libsql from "libsql";
import { BoundedMap } from "sluice";
import { every, pause, readMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { loadModule } from "../base/load-module.js";
import type { Database, Row, SqlValue, Transaction, Unsubscribe } from "./database.js";

/** How often the file is looked at for changes of other processes. */
const POLL_MS = 250;
/** How long another process may hold the file before a statement fails. */
const BUSY_MS_MAX = 5_000;
const BUSY_PAUSE_MS = 10;
/** Prepared statements that are kept: lists of rows have one for each length. */
const STATEMENTS_MAX = 1_000;
/** The log is copied to the database when it has so many pages: 32 MB. SQLite's own default is 4 MB. */
const CHECKPOINT_PAGES = 8_000;
/** Statements that write nothing. */
const READS = /^\s*(?:SELECT|PRAGMA)\b/i;

const UNIQUE_INDEXES = `SELECT (
  SELECT group_concat(i.name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) i
) AS columns FROM pragma_index_list($1) l WHERE l."unique" = 1`;

/** Opens the file, and makes it if it is not there; only its user may read it. */
export function openSqlite(path: string): Database {
  try {
    closeSync(openSync(path, "a", 0o600));
    const Driver = loadModule<typeof Libsql>("libsql");
    return new SqliteDatabase(new Driver(path), new Flushes(`${path}-wal`));
  } catch (cause) {
    const seen = `${path}: ${(cause as Error).message}`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  readonly transactionsMax = 1;
  readonly #db: Libsql.Database;
  readonly #flushes: Flushes;
  readonly #statements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);
  readonly #tupleStatements = new BoundedMap<string, Prepared>(STATEMENTS_MAX);
  readonly #subscribers = new Set<() => void>();
  /** Settles when the last of those that wait has had its turn. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #stopPolling: (() => void) | undefined;

  constructor(db: Libsql.Database, flushes: Flushes) {
    this.#db = db;
    this.#flushes = flushes;
    // Readers don't wait for writers. A commit is in the log when it returns, which is flushed here before it resolves.
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = NORMAL");
    db.exec("PRAGMA foreign_keys = ON");
    // A page that many transactions change is copied from the log to the database once for all of them.
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  }

  async query<R extends Row>(sql: string, values: readonly SqlValue[] = []): Promise<R[]> {
    const rows = await this.#inTurn(() => this.#whenFree(() => this.#run<R>(sql, values)));
    if (!READS.test(sql)) await this.#flushes.next();
    return rows;
  }

  /** Every statement is prepared once. */
  queryPrepared<R extends Row>(sql: string, values: readonly SqlValue[]): Promise<R[]> {
    return this.query<R>(sql, values);
  }

  async queryTuples<T extends readonly SqlValue[]>(
    sql: string,
    values: readonly SqlValue[] = [],
  ): Promise<T[]> {
    // A statement gives rows of one kind, so there is another one for lists.
    const run = () => this.#run(sql, values, this.#tupleStatements) as unknown as T[];
    const rows = await this.#inTurn(() => this.#whenFree(run));
    if (!READS.test(sql)) await this.#flushes.next();
    return rows;
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let isAnnounced = false;
    const result = await this.#inTurn(async () => {
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
      return result;
    });
    await this.#flushes.next();
    if (isAnnounced) this.#notify();
    return result;
  }

  async hasUniqueIndex(table: string, columns: readonly string[]): Promise<boolean> {
    const rows = await this.query<{ columns: string }>(UNIQUE_INDEXES, [table]);
    return rows.some((row) => row.columns === columns.join());
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
      const bound = order.map((place) => values[place] ?? null);
      if (statement.reader) return statement.all(bound) as R[];
      statement.run(bound);
      return [];
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

/** Flushes the log of a database to the disk, beside all else. */
class Flushes {
  readonly #path: string;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when all that is written now is on the disk. Those who wait for the flush under way share the next. */
  next(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      const flush = this.#flush();
      this.#current = flush.catch(() => {});
      return flush;
    });
    return this.#next;
  }

  async #flush(): Promise<void> {
    try {
      const file = await open(this.#path, "r+");
      await file.sync().finally(() => file.close());
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // The last connection removes the log when all of it is in the database, and on the disk.
      if (code === "ENOENT") return;
      const seen = `${this.#path} can't be flushed to the disk: ${message}`;
      throw new ServerError("SLUICE_DATABASE_FAILED", seen, { cause });
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
