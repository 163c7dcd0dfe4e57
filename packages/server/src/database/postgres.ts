// PostgreSQL as the database: a pool of connections, and one more that listens for announcements.

import type pg from "pg";
import { after, type CancelTimer } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { loadModule } from "../base/files/load-module.js";
import {
  CommitUnknownError,
  type Database,
  type Row,
  type SqlValue,
  type Transaction,
  type TransactionOptions,
  type Unsubscribe,
} from "./database.js";

const CONNECTIONS_MAX = 8;
/** For a connection of the pool, whether it has to be made or is in use; `connect_timeout` of the URL is another. */
const CONNECT_MS_MAX = 3_000;
const STATEMENT_MS_MAX = 15_000;
/** A lost listening connection is opened again after this long. */
const LISTEN_AGAIN_MS = 500;
const CHANNEL = "sluice_changes";
/** The advisory lock that exclusive transactions take; any number that nothing else uses. */
const EXCLUSIVE_LOCK = 7_561_234;
const INT8 = 20;
/** The oldest supported version, and its first release as the server counts them. */
const OLDEST = { name: "PostgreSQL 14", release: 140_000 };
const VERSION =
  "SELECT current_setting('server_version') AS name, current_setting('server_version_num') AS release";

const UNIQUE_INDEXES = `SELECT (
  SELECT string_agg(a.attname, ',' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = i.indexrelid
) AS columns FROM pg_index i
WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL`;

function load(): typeof pg {
  return loadModule<typeof pg>("pg");
}

/** Opens a pool. Nothing is connected before the first statement. */
export function openPostgres(url: string): Database {
  const connectMsMax = readConnectMs(url);
  return new PostgresDatabase({
    connectionString: url,
    application_name: "sluice",
    connectionTimeoutMillis: connectMsMax,
    statement_timeout: STATEMENT_MS_MAX,
    // An answer that never comes must not hold a caller for ever, whatever the network does.
    query_timeout: STATEMENT_MS_MAX + connectMsMax,
    keepAlive: true,
    types: { getTypeParser: toParser },
  });
}

/** In seconds, as libpq has it. Not parsed as a URL: PostgreSQL's may name several hosts. */
function readConnectMs(url: string): number {
  const seconds = Number(/[?&]connect_timeout=([1-9]\d{0,5})(?:&|$)/.exec(url)?.[1] ?? 0);
  return seconds === 0 ? CONNECT_MS_MAX : seconds * 1_000;
}

/** Whole numbers of 64 bits are times and sequence numbers here: all of them fit a double. */
function toParser(oid: number, format?: string): (value: string) => unknown {
  return oid === INT8 ? Number : load().types.getTypeParser(oid, format as "text");
}

class PostgresDatabase implements Database {
  readonly dialect = "postgres";
  readonly transactionsMax = CONNECTIONS_MAX;
  readonly #pool: pg.Pool;
  readonly #announcements: Announcements;
  /** The names of prepared statements, the same on all connections. */
  readonly #names = new Map<string, string>();

  constructor(config: pg.ClientConfig) {
    this.#pool = new (load().Pool)({ ...config, max: CONNECTIONS_MAX });
    // A connection that breaks while it is idle: the pool replaces it.
    this.#pool.on("error", () => {});
    this.#announcements = new Announcements(config);
  }

  async checkVersion(): Promise<void> {
    const [seen] = await this.query<{ name: string; release: string }>(VERSION);
    if (Number(seen?.release) >= OLDEST.release) return;
    // Packages append their own version: 13.18 (Debian 13.18-1).
    const name = seen?.name.split(" ", 1)[0];
    throw new ServerError(
      "SLUICE_DATABASE_UNSUPPORTED",
      `it is PostgreSQL ${name}, and Sluice needs ${OLDEST.name} or newer; upgrade the server, or use another one`,
    );
  }

  async query<R extends Row>(sql: string, values: readonly SqlValue[] = []): Promise<R[]> {
    try {
      return (await this.#pool.query<R>(sql, [...values])).rows;
    } catch (cause) {
      throw toError(cause);
    }
  }

  async queryPrepared<R extends Row>(sql: string, values: readonly SqlValue[]): Promise<R[]> {
    let name = this.#names.get(sql);
    if (name === undefined) {
      name = `sluice-${this.#names.size + 1}`;
      this.#names.set(sql, name);
    }
    try {
      return (await this.#pool.query<R>({ name, text: sql, values: [...values] })).rows;
    } catch (cause) {
      throw toError(cause);
    }
  }

  async queryTuples<T extends readonly SqlValue[]>(
    sql: string,
    values: readonly SqlValue[] = [],
  ): Promise<T[]> {
    try {
      const asked = { text: sql, values: [...values], rowMode: "array" as const };
      return (await this.#pool.query(asked)).rows as unknown as T[];
    } catch (cause) {
      throw toError(cause);
    }
  }

  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    { exclusive = false }: TransactionOptions = {},
  ): Promise<T> {
    const client = await this.#connect();
    let lost: Error | undefined;
    const onLost = (error: Error) => {
      lost = error;
    };
    const ask: Ask = async <R extends Row>(sql: string, values?: readonly SqlValue[]) => {
      try {
        return (await client.query<R>(sql, values && [...values])).rows;
      } catch (cause) {
        if (isConnectionLoss(cause)) lost = cause as Error;
        throw toError(cause);
      }
    };
    client.on("error", onLost);
    let isCommitting = false;
    try {
      await ask("BEGIN");
      if (exclusive) await ask("SELECT pg_advisory_xact_lock($1)", [EXCLUSIVE_LOCK]);
      const result = await work(toTransaction(ask));
      isCommitting = true;
      await ask("COMMIT");
      return result;
    } catch (error) {
      if (lost === undefined) await client.query("ROLLBACK").catch(onLost);
      else if (isCommitting) throw new CommitUnknownError(lost);
      throw error;
    } finally {
      client.off("error", onLost);
      client.release(lost);
    }
  }

  async hasUniqueIndex(table: string, columns: readonly string[]): Promise<boolean> {
    const rows = await this.query<{ columns: string }>(UNIQUE_INDEXES, [table]);
    return rows.some((row) => row.columns === columns.join());
  }

  subscribe(onChange: () => void): Unsubscribe {
    return this.#announcements.add(onChange);
  }

  async close(): Promise<void> {
    await this.#announcements.close();
    await this.#pool.end();
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (cause) {
      throw toError(cause);
    }
  }
}

type Ask = Transaction["query"];

function toTransaction(ask: Ask): Transaction {
  return {
    query: ask,
    lock: (sql, values) => ask(`${sql} FOR UPDATE OF a`, values),
    async execute(script) {
      await ask(script);
    },
    async announce() {
      await ask(`NOTIFY ${CHANNEL}`);
    },
  };
}

/** One connection that listens while there is a subscriber, and is opened again whenever it is lost. */
class Announcements {
  readonly #config: pg.ClientConfig;
  readonly #subscribers = new Set<() => void>();
  #client: pg.Client | undefined;
  #cancelRetry: CancelTimer = () => {};

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  add(onChange: () => void): Unsubscribe {
    this.#subscribers.add(onChange);
    if (this.#client === undefined) this.#open();
    return () => {
      this.#subscribers.delete(onChange);
      if (this.#subscribers.size === 0) void this.close();
    };
  }

  async close(): Promise<void> {
    this.#cancelRetry();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  #open(): void {
    const client = new (load().Client)(this.#config);
    this.#client = client;
    client.on("notification", () => this.#notify());
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    const listening = client.connect().then(() => client.query(`LISTEN ${CHANNEL}`));
    // What was announced before this moment was not heard.
    listening.then(
      () => this.#notify(),
      () => this.#lose(client),
    );
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => {});
    this.#cancelRetry = after(LISTEN_AGAIN_MS, () => {
      if (this.#subscribers.size > 0 && this.#client === undefined) this.#open();
    });
  }

  #notify(): void {
    for (const onChange of this.#subscribers) onChange();
  }
}

function toError(cause: unknown): ServerError {
  const isPassing = isConnectionLoss(cause) || isContention(cause);
  const code = isPassing ? "SLUICE_DATABASE_UNAVAILABLE" : "SLUICE_DATABASE_FAILED";
  return new ServerError(code, cause instanceof Error ? cause.message : String(cause), { cause });
}

/** Serialisation failure and deadlock: the same transaction may pass when it is tried again. */
const CONTENTION_STATES = /^40(?:001|P01)$/;

function isContention(error: unknown): boolean {
  return CONTENTION_STATES.test(String((error as { code?: unknown }).code));
}

/** SQLSTATE classes of a connection that ends, or of a server that takes none at the moment. */
const LOST_STATES = /^(?:08...|57P0[1-5]|53300)$/;
const LOST_MESSAGES =
  /Connection terminated|timeout exceeded|Query read timeout|Client has encountered/i;

function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return LOST_STATES.test(code);
  // Errors of the system, such as ECONNRESET, have a number too; those of the client only a message.
  return "errno" in error || LOST_MESSAGES.test(error.message);
}
