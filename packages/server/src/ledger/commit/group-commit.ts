// Group commit: operations that arrive together share a transaction. They are decided in the order in which they came,
// and answered after the commit.

import { BoundedMap, type Clock } from "sluice";
import { atEndOfTurn, pause, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import {
  CommitUnknownError,
  type Database,
  isDatabaseUnavailable,
} from "../../database/database.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import { AccountCache } from "./account-cache.js";
import { CommitBatch, type PendingOperation, type ReportResult } from "./batch.js";
import { runCached } from "./cached-batch.js";
import { makeAccounts, runLocked } from "./locked-batch.js";
import { accountIdsOf, type Operation } from "./operation.js";
import { WaitingLine } from "./waiting-line.js";

/** Operations that may wait; further ones are refused, so that a database that hangs does not fill the memory. */
const WAITING_MAX = 50_000;
/** Accounts that are known to be there. */
const KNOWN_MAX = 100_000;
/** Transactions that run beside each other, on different accounts: more of them would be smaller, and cost more. */
const BESIDE_MAX = 3;
/** So few operations cost little by themselves, and wait for no other transaction while there is a connection. */
const FEW_OPERATIONS = 16;
const BESIDE_FEW_MAX = 7;
const RETRY_PAUSE_MS = 20;
const RETRY_PAUSE_MS_MAX = 500;
/** Attempts at one transaction, however long it may be tried. */
const ATTEMPTS_MAX = 100;

/** Options of {@link GroupCommit}. */
export interface GroupCommitOptions {
  /** The name of the node, in entries. */
  readonly actor: string;
  readonly clock: Clock;
  /** How long a transaction is tried again while the database is unavailable. */
  readonly retryMsMax: number;
  /** How many accounts are kept to decide on without reading them. */
  readonly accountsCachedMax: number;
}

/** Figures of a group commit. */
export interface GroupCommitStats {
  readonly transactions: number;
  readonly operations: number;
  readonly retries: number;
  readonly failures: number;
  /** Transactions that were decided without reading, and had to be run again under locks. */
  readonly outdated: number;
  /** Operations that wait. */
  readonly waiting: number;
}

/** Runs operations in shared transactions. */
export class GroupCommit {
  readonly #database: Database;
  readonly #options: GroupCommitOptions;
  readonly #known = new BoundedMap<string, true>(KNOWN_MAX);
  readonly #cache: AccountCache;
  readonly #waiting: WaitingLine;
  /** Transactions under way. */
  #running = 0;
  #isScheduled = false;
  #drained: (() => void)[] = [];
  readonly #figures = { transactions: 0, operations: 0, retries: 0, failures: 0, outdated: 0 };

  constructor(database: Database, options: GroupCommitOptions) {
    this.#database = database;
    this.#options = options;
    this.#cache = new AccountCache(options.accountsCachedMax);
    this.#waiting = new WaitingLine(this.#cache);
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
      this.#waiting.add({ operation, resolve, reject } as PendingOperation<T> as PendingOperation);
      this.#schedule();
    });
  }

  /** Resolves when everything that waits has been answered. */
  async drain(): Promise<void> {
    if (this.#running === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** A transaction takes what came in the same turn of the event loop, and what waited for accounts in use. */
  #schedule(): void {
    if (this.#isScheduled || !this.#hasRoom) return;
    this.#isScheduled = true;
    atEndOfTurn(() => {
      this.#isScheduled = false;
      this.#startReady();
    });
  }

  get #hasRoom(): boolean {
    const isFew = this.#waiting.length <= FEW_OPERATIONS;
    return this.#running < (isFew ? BESIDE_FEW_MAX : BESIDE_MAX);
  }

  #startReady(): void {
    while (this.#hasRoom) {
      const batch = this.#waiting.takeReady();
      if (batch.length === 0) return;
      this.#start(batch);
    }
  }

  #start(batch: readonly PendingOperation[]): void {
    this.#running++;
    void this.#answer(batch).then(() => {
      this.#waiting.release(batch);
      this.#running--;
      if (this.#waiting.length > 0) this.#schedule();
      else if (this.#running === 0) for (const drained of this.#drained.splice(0)) drained();
    });
  }

  async #answer(batch: readonly PendingOperation[]): Promise<void> {
    try {
      for (const report of await this.#commit(batch)) report();
    } catch (error) {
      this.#figures.failures++;
      for (const { reject } of batch) reject(error);
    }
  }

  async #commit(batch: readonly PendingOperation[]): Promise<readonly ReportResult[]> {
    const endMs = readMs() + this.#options.retryMsMax;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#tryCommit(batch, attempt > 0);
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        if (readMs() >= endMs || attempt + 1 >= ATTEMPTS_MAX) throw gaveUp(error, attempt + 1);
      }
      this.#figures.retries++;
      await pause(Math.min(RETRY_PAUSE_MS * 2 ** attempt, RETRY_PAUSE_MS_MAX));
    }
  }

  async #tryCommit(
    pending: readonly PendingOperation[],
    isRepeated: boolean,
  ): Promise<readonly ReportResult[]> {
    const isCached =
      !isRepeated &&
      pending.every(({ operation }) => accountIdsOf(operation).every((id) => this.#cache.has(id)));
    const reports =
      (isCached && (await this.#commitCached(pending))) ||
      (await this.#commitLocked(pending, isRepeated));
    this.#figures.transactions++;
    this.#figures.operations += pending.length;
    return reports;
  }

  /** Returns undefined if nothing was written, because what the cache has is outdated. */
  async #commitCached(
    pending: readonly PendingOperation[],
  ): Promise<readonly ReportResult[] | undefined> {
    const batch = this.#toBatch(pending);
    for (const id of batch.ids) batch.add(this.#cache.take(id));
    const { reports, changedIds } = await runCached(this.#database, batch);
    if (reports !== undefined) {
      this.#keep(batch);
      return reports;
    }
    this.#figures.outdated++;
    for (const id of changedIds) this.#cache.noteShared(id, readMs());
    return undefined;
  }

  async #commitLocked(
    pending: readonly PendingOperation[],
    isRepeated: boolean,
  ): Promise<ReportResult[]> {
    await this.#makeUnknown(pending);
    const { batch, reports } = await this.#database.transaction(async (tx) => {
      const batch = this.#toBatch(pending);
      return { batch, reports: await runLocked(tx, batch, isRepeated) };
    });
    this.#keep(batch);
    return reports;
  }

  #toBatch(pending: readonly PendingOperation[]): CommitBatch {
    const { actor, clock } = this.#options;
    return new CommitBatch(pending, { actor, atMs: Math.floor(clock.now()) });
  }

  /** Accounts of subjects that are blocked are read each time. */
  #keep(batch: CommitBatch): void {
    const nowMs = readMs();
    for (const id of batch.ids) {
      if (!batch.has(id)) continue;
      const account = batch.account(id);
      if (!account.isOpen || batch.blockedUntilMs(id) > batch.writer.atMs) continue;
      account.markStored();
      this.#cache.keep(account, nowMs);
    }
  }

  /**
   * Makes the accounts that this process has not met, before the transaction: a row that one transaction inserts and
   * others wait for would take the locks out of their order.
   */
  async #makeUnknown(batch: readonly PendingOperation[]): Promise<void> {
    const unknown = new Map<string, AccountSpec>();
    for (const { operation } of batch) {
      for (const spec of [...operation.specs, ...(operation.unopened ?? [])]) {
        if (!this.#known.has(spec.id)) unknown.set(spec.id, spec);
      }
    }
    if (unknown.size === 0) return;
    const specs = [...unknown.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    await makeAccounts(this.#database.query.bind(this.#database), specs);
    for (const { id } of specs) this.#known.set(id, true);
  }
}

/** A first attempt is reported as it is; whether one was committed is not known after a lost connection. */
function gaveUp(error: ServerError, attempts: number): ServerError {
  if (attempts === 1 || error instanceof CommitUnknownError) return error;
  const { message } = error.cause instanceof Error ? error.cause : error;
  const seen = `gave up after ${attempts} attempts at a transaction of the ledger; the last failed with: ${message}`;
  return new ServerError(error.code, seen, { cause: error });
}
