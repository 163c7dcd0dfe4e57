// SQLite as the database, in one file: the embedded default. One connection, on which everything waits for its turn;
// the library answers synchronously, and statements here take microseconds. Only the flush to the disk would take long,
// so it is not SQLite's: it happens beside decisions, one for all that was committed before it began. Large groups of
// statements are written beside decisions too, by a thread.

import { closeSync, openSync } from "node:fs";
import { every, nextTurn, pause, readMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import type {
  Database,
  GroupStatement,
  Row,
  SqlValue,
  Transaction,
  Unsubscribe,
} from "./database.js";
import { isBusy, SqliteConnection } from "./sqlite-connection.js";
import { SqliteFlushes } from "./sqlite-flushes.js";
import { hasWriterThread, SqliteWriter } from "./sqlite-writer.js";
import { Turns } from "./turns.js";

/** How often the file is looked at for changes of other processes. */
const POLL_MS = 250;
/** How long another process may hold the file before a statement fails. */
const BUSY_MS_MAX = 5_000;
/** How long the statements of a transaction take before others have their turn. */
const SLICE_MS = 5;
const BUSY_PAUSE_MS = 10;
/** Statements that write nothing. */
const READS = /^\s*(?:SELECT|PRAGMA)\b/i;

const UNIQUE_INDEXES = `SELECT (
  SELECT group_concat(i.name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) i
) AS columns FROM pragma_index_list($1) l WHERE l."unique" = 1`;

/** Opens the file, and makes it if it is not there; only its user may read it. */
export function openSqlite(path: string): Database {
  try {
    makeFile(path);
    return new SqliteDatabase(path);
  } catch (cause) {
    const seen = `${path}: ${(cause as Error).message}`;
    throw new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
  }
}

/**
 * Makes the file if it is not there. One that is there must not be opened and closed here: closing any descriptor of it
 * gives up the locks that other connections of this process hold, and another process would then remove their log.
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  readonly transactionsMax = 1;
  readonly #connection: SqliteConnection;
  readonly #writer: SqliteWriter;
  readonly #flushes: SqliteFlushes;
  readonly #turns = new Turns();
  readonly #subscribers = new Set<() => void>();
  #stopPolling: (() => void) | undefined;

  constructor(path: string) {
    this.#connection = new SqliteConnection(path);
    this.#writer = new SqliteWriter({ path, busyMsMax: BUSY_MS_MAX });
    this.#flushes = new SqliteFlushes(`${path}-wal`);
  }

  /** The library that is installed brings its SQLite along. */
  async checkVersion(): Promise<void> {}

  async query<R extends Row>(sql: string, values: readonly SqlValue[] = []): Promise<R[]> {
    const run = () => this.#connection.query<R>(sql, values);
    const rows = await this.#turns.alone(() => whenFree(run));
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
    const run = () => this.#connection.queryTuples<T>(sql, values);
    const rows = await this.#turns.alone(() => whenFree(run));
    if (!READS.test(sql)) await this.#flushes.next();
    return rows;
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let isAnnounced = false;
    const connection = this.#connection;
    const result = await this.#turns.alone(async () => {
      let sinceMs = readMs();
      const query = async <R extends Row>(sql: string, values: readonly SqlValue[] = []) => {
        const rows = connection.query<R>(sql, values);
        if (readMs() - sinceMs < SLICE_MS) return rows;
        // The library is synchronous: without this, decisions would wait until the last statement of a transaction.
        await nextTurn();
        sinceMs = readMs();
        return rows;
      };
      const tx: Transaction = {
        query,
        // The transaction has the whole file.
        lock: query,
        execute: async (script) => connection.exec(script),
        announce: async () => {
          isAnnounced = true;
        },
      };
      await whenFree(() => connection.exec("BEGIN IMMEDIATE"));
      try {
        const result = await work(tx);
        connection.exec("COMMIT");
        return result;
      } catch (error) {
        connection.rollBack();
        throw error;
      }
    });
    await this.#flushes.next();
    if (isAnnounced) this.#notify();
    return result;
  }

  async runGroup(group: readonly GroupStatement[], isLarge: boolean): Promise<boolean> {
    const isKept = await (isLarge && hasWriterThread
      ? this.#turns.beside(() => this.#writer.runGroup(group))
      : this.#turns.alone(() => whenFree(() => this.#connection.runGroup(group))));
    if (isKept) await this.#flushes.next();
    return isKept;
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
    await this.#turns.alone(async () => {
      await this.#writer.close();
      this.#connection.close();
    });
    await this.#flushes.close();
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
}

/** Runs a task once no other process has the file. */
async function whenFree<T>(task: () => T): Promise<T> {
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
