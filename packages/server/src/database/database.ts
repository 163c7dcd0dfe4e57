// The port to the database of the control plane: all that its other parts know of SQL. Statements are written once,
// in the part of SQL that PostgreSQL and SQLite have in common; where the two differ, the difference is in the drivers.

import { ServerError } from "../base/errors.js";

/** What statements take and give. Times are milliseconds, flags 0 or 1, structures JSON. */
export type SqlValue = string | number | null;

/** A row of a result, by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** Runs single statements. */
export interface Reader {
  /**
   * Runs a statement and returns its rows.
   *
   * @param sql - With `$1`, `$2` … where values go.
   * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` if the database does not answer, `SLUICE_DATABASE_FAILED` if it
   *   answers with an error.
   */
  query<R extends Row = Row>(sql: string, values?: readonly SqlValue[]): Promise<R[]>;
}

/** What a database can read besides. */
export interface TupleReader extends Reader {
  /** As `query`, with each row as the list of its columns: a third faster where there are millions. */
  queryTuples<T extends readonly SqlValue[]>(
    sql: string,
    values?: readonly SqlValue[],
  ): Promise<T[]>;
}

/** What says how a table is kept. */
export interface SchemaReader {
  /** Whether an index lets no two rows of a table have the same values in these columns, which it has in this order. */
  hasUniqueIndex(table: string, columns: readonly string[]): Promise<boolean>;
}

/** What a transaction can do besides. */
export interface Transaction extends Reader {
  /**
   * Runs a SELECT and keeps other transactions from writing the rows of the table that it calls `a`, until this one ends.
   * Rows are locked in the order of the result.
   */
  lock<R extends Row = Row>(sql: string, values?: readonly SqlValue[]): Promise<R[]>;
  /** Runs a script of several statements without values. */
  execute(script: string): Promise<void>;
  /** Notifies the subscribers of every process once the transaction is committed. */
  announce(): Promise<void>;
}

/** How a transaction runs. */
export interface TransactionOptions {
  /** Waits until no other exclusive transaction runs, in any process. Default false. */
  readonly exclusive?: boolean;
}

/** A statement of a group. */
export interface GroupStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** How many rows it has to return or, if it returns none, to change. Default: any number. */
  readonly rows?: number;
}

/** Stops what it was returned for. */
export type Unsubscribe = () => void;

/** A database. */
export interface Database extends TupleReader, SchemaReader {
  /** `sqlite` or `postgres`. */
  readonly dialect: string;
  /** Transactions that may run at the same time; others wait. */
  readonly transactionsMax: number;
  /** @throws ServerError `SLUICE_DATABASE_UNSUPPORTED` if the server is older than what the statements need. */
  checkVersion(): Promise<void>;
  /**
   * As `query`, for a statement whose text never changes: a connection parses and plans it once. A connection that is
   * lost may have run it.
   */
  queryPrepared<R extends Row = Row>(sql: string, values: readonly SqlValue[]): Promise<R[]>;
  /**
   * Runs `work` in a transaction: committed if it resolves, rolled back if it rejects.
   *
   * @throws {@link CommitUnknownError} if the connection was lost while the commit was under way.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs statements in one transaction, without asking in between. Resolves with whether they were kept: all, or none if
   * one has other rows than it must. Only where statements need no way to a server.
   *
   * @param isLarge - Whether it is worth a thread of its own.
   * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` if they may have been kept or not.
   */
  runGroup?(group: readonly GroupStatement[], isLarge: boolean): Promise<boolean>;
  /**
   * Calls `onChange` after each transaction that announced one, in this process or another. May call it without
   * need, and calls it after a lost connection is back, since announcements may have been missed.
   */
  subscribe(onChange: () => void): Unsubscribe;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * The connection was lost between COMMIT and its answer: the transaction may have happened or not. A caller that gets this
 * has to look before it tries again.
 */
export class CommitUnknownError extends ServerError {
  override readonly name: string = "CommitUnknownError";

  constructor(cause: unknown) {
    const seen = cause instanceof Error ? cause.message : String(cause);
    super("SLUICE_DATABASE_UNAVAILABLE", `the connection was lost during COMMIT (${seen})`, {
      cause,
    });
  }
}

/** Whether an error says that the database did not answer, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): error is ServerError {
  return error instanceof ServerError && error.code === "SLUICE_DATABASE_UNAVAILABLE";
}
