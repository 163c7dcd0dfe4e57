// Group commit: operations that arrive together share a transaction. They are decided in the order in which they came,
// and answered after the commit.

import { BoundedMap, type Clock } from "sluice";
import { afterAlive, atEndOfTurn, pause, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Database } from "../../database/database.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import { makeAccounts, type Pending, type Report, runBatch } from "./batch.js";
import type { Operation } from "./operation.js";

/** Operations of one transaction. */
const BATCH_MAX = 500;
/** Operations that may wait; further ones are refused, so that a database that hangs does not fill the memory. */
const WAITING_MAX = 50_000;
/** Accounts that are known to be there. */
const KNOWN_MAX = 100_000;
/** How long operations are collected while a transaction is under way. */
const COLLECT_MS = 2;
/** Transactions that run beside each other: more of them would be smaller, and cost more than they save. */
const BESIDE_MAX = 2;
const RETRY_PAUSE_MS = 20;
const RETRY_PAUSE_MS_MAX = 500;

/** Options of {@link GroupCommit}. */
export interface GroupCommitOptions {
  /** Who writes: the node. */
  readonly actor: string;
  readonly clock: Clock;
  /** How long a transaction is tried again while the database is unavailable. */
  readonly retryMsMax: number;
}

/** Figures of a group commit. */
export interface GroupCommitStats {
  readonly transactions: number;
  readonly operations: number;
  readonly retries: number;
  readonly failures: number;
  /** Operations that wait. */
  readonly waiting: number;
}

/** Runs operations in shared transactions. */
export class GroupCommit {
  readonly #database: Database;
  readonly #options: GroupCommitOptions;
  readonly #runningMax: number;
  readonly #known = new BoundedMap<string, true>(KNOWN_MAX);
  #waiting: Pending[] = [];
  /** Transactions under way. */
  #running = 0;
  #isScheduled = false;
  #drained: (() => void)[] = [];
  readonly #figures = { transactions: 0, operations: 0, retries: 0, failures: 0 };

  constructor(database: Database, options: GroupCommitOptions) {
    this.#database = database;
    this.#options = options;
    this.#runningMax = Math.min(BESIDE_MAX, database.transactionsMax);
  }

  get stats(): GroupCommitStats {
    return { ...this.#figures, waiting: this.#waiting.length };
  }

  /**
   * Runs an operation, and resolves after its commit.
   *
   * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` if the database stays unavailable, or what the operation throws.
   */
  run<T>(operation: Operation<T>): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX) {
      const seen = `${WAITING_MAX} operations of the ledger wait for it`;
      return Promise.reject(new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen));
    }
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject } as Pending<T> as Pending);
      this.#schedule();
    });
  }

  /** Resolves when everything that waits has been answered. */
  async drain(): Promise<void> {
    if (this.#running === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /**
   * An idle database gets what comes in the same turn of the event loop. While a transaction is under way, operations are
   * collected a moment longer, and go beside it.
   */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#runningMax) return;
    this.#isScheduled = true;
    const start = () => {
      this.#isScheduled = false;
      this.#startNext();
    };
    if (this.#running === 0) atEndOfTurn(start);
    else afterAlive(COLLECT_MS, start);
  }

  #startNext(): void {
    if (this.#waiting.length === 0 || this.#running >= this.#runningMax) return;
    const batch = this.#waiting.splice(0, BATCH_MAX);
    this.#running++;
    void this.#answer(batch).then(() => {
      this.#running--;
      this.#startNext();
      if (this.#running === 0) for (const drained of this.#drained.splice(0)) drained();
    });
    if (this.#waiting.length > 0) this.#schedule();
  }

  async #answer(batch: readonly Pending[]): Promise<void> {
    try {
      for (const report of await this.#commit(batch)) report();
    } catch (error) {
      this.#figures.failures++;
      for (const { reject } of batch) reject(error);
    }
  }

  async #commit(batch: readonly Pending[]): Promise<Report[]> {
    const endMs = readMs() + this.#options.retryMsMax;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#tryCommit(batch, attempt > 0);
      } catch (error) {
        if (!isPassing(error) || readMs() >= endMs) throw error;
      }
      this.#figures.retries++;
      await pause(Math.min(RETRY_PAUSE_MS * 2 ** attempt, RETRY_PAUSE_MS_MAX));
    }
  }

  async #tryCommit(batch: readonly Pending[], isRepeated: boolean): Promise<Report[]> {
    await this.#makeUnknown(batch);
    const { actor, clock } = this.#options;
    const reports = await this.#database.transaction((tx) =>
      runBatch(tx, batch, { writer: { actor, atMs: Math.floor(clock.now()) }, isRepeated }),
    );
    this.#figures.transactions++;
    this.#figures.operations += batch.length;
    return reports;
  }

  /**
   * Makes the accounts that this process has not met, before the transaction: a row that one transaction inserts and
   * others wait for would take the locks out of their order.
   */
  async #makeUnknown(batch: readonly Pending[]): Promise<void> {
    const unknown = new Map<string, AccountSpec>();
    for (const { operation } of batch) {
      for (const spec of operation.specs) {
        if (!this.#known.has(spec.id)) unknown.set(spec.id, spec);
      }
    }
    if (unknown.size === 0) return;
    const specs = [...unknown.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    await makeAccounts(this.#database.query.bind(this.#database), specs);
    for (const { id } of specs) this.#known.set(id, true);
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof ServerError && error.code === "SLUICE_DATABASE_UNAVAILABLE";
}
