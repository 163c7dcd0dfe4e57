// The ledger as a store: what the library asks of any store, as operations of a group commit. It holds quotas only.

import {
  type Charge,
  type Clock,
  type CounterStatus,
  type DecideOptions,
  type Outcome,
  type PeekOptions,
  type Settling,
  SluiceError,
  type Store,
  type Verdict,
} from "sluice";
import { every } from "../base/clock.js";
import { randomId } from "../base/random-id.js";
import type { Database } from "../database/database.js";
import { toSubject } from "./accounts/account-id.js";
import { neighboursOf, toSpec } from "./accounts/account-spec.js";
import type { EntryRow } from "./accounts/entry.js";
import { catchUp, endExpired } from "./accounts/periods.js";
import { type AccountRead, readAccounts } from "./accounts-read.js";
import { GroupCommit, type GroupCommitStats } from "./commit/group-commit.js";
import type { Operation } from "./commit/operation.js";
import { ChargeOperation } from "./operations/charge.js";
import { type ActName, ActOperation, type ActResult } from "./operations/operator.js";
import { ExpireOperation, SettleOperation } from "./operations/settle.js";
import { toBlocked, toStatus, toVerdict } from "./operations/verdicts.js";
import { statements } from "./sql/statements.js";

/** Options of {@link LedgerStore}. */
export interface LedgerStoreOptions {
  /** The name of the node, in entries. */
  readonly actor: string;
  /** Wall time. */
  readonly clock: Clock;
  /** How long a reservation is held before it is returned. Default 600,000: ten minutes. */
  readonly reservationMs?: number;
  /** How long a transaction is tried again while the database is unavailable. Default 2,000. */
  readonly retryMsMax?: number;
  /** How often reservations that expired are looked for. Default 5,000; 0 is never. */
  readonly sweepMs?: number;
  /**
   * How many accounts are kept as this process last left them, to decide on without reading them. Default 20,000; with 0
   * every decision locks and reads its accounts.
   */
  readonly accountsCachedMax?: number;
  /** The prefix of idempotency keys for requests without one; no two processes may have the same. Default: random. */
  readonly keyPrefix?: string;
}

const RESERVATION_MS = 600_000;
const RETRY_MS_MAX = 2_000;
const SWEEP_MS = 5_000;
const ACCOUNTS_CACHED_MAX = 20_000;
/** Reservations that a sweep returns in one go. */
const SWEEP_MAX = 500;
/** A lease is spent or returned within a second: the process of one that is older has died. */
const LEASE_MS_MAX = 60_000;

/** A store of quotas in a database that has the schema of this version. */
export class LedgerStore implements Store {
  readonly isRemote = true;
  readonly #database: Database;
  readonly #options: Required<LedgerStoreOptions>;
  readonly #commit: GroupCommit;
  readonly #stopSweeping: () => void;
  #operations = 0;
  #isClosed = false;

  constructor(database: Database, options: LedgerStoreOptions) {
    this.#database = database;
    this.#options = {
      reservationMs: RESERVATION_MS,
      retryMsMax: RETRY_MS_MAX,
      sweepMs: SWEEP_MS,
      accountsCachedMax: ACCOUNTS_CACHED_MAX,
      // Idempotency keys of this process are unlike those of any other.
      keyPrefix: randomId(9),
      ...options,
    };
    this.#commit = new GroupCommit(database, this.#options);
    const { sweepMs } = this.#options;
    // A sweep that fails is made up for by the next one.
    const sweep = () => void this.sweep().catch(() => {});
    this.#stopSweeping = sweepMs === 0 ? () => {} : every(sweepMs, sweep);
  }

  /** Runs operations of the ledger in the transactions of this store. */
  run<T>(operation: Operation<T>): Promise<T> {
    this.#mustBeOpen();
    return this.#commit.run(operation);
  }

  get stats(): GroupCommitStats {
    return this.#commit.stats;
  }

  async decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    this.#mustBeOpen();
    const { requestId, hold } = options;
    for (const { cost } of charges) mustBeWhole(cost);
    const nowMs = this.#nowMs();
    const isNamed = requestId !== undefined;
    const kind = hold === true ? "reserve" : hold === "lease" ? "lease" : "use";
    const lifeMs = kind === "lease" ? LEASE_MS_MAX : this.#options.reservationMs;
    return this.#commit.run(
      new ChargeOperation({
        charges,
        specs: charges.map((charge) => toSpec(charge, nowMs)),
        neighbours: isNamed ? charges.map((charge) => neighboursOf(charge, nowMs)) : [],
        kind,
        idempotencyKey: isNamed ? `request:${toSubject(requestId)}` : this.#nextKey(),
        isNamed,
        wantsReceipts: hold !== undefined && hold !== false,
        expiresAtMs: nowMs + lifeMs,
      }),
    );
  }

  async peek(charges: readonly Charge[], _options?: PeekOptions): Promise<readonly Verdict[]> {
    const nowMs = this.#nowMs();
    const read = await this.#read(charges, nowMs);
    return read.map(({ account, spec, blockedUntilMs }, i) => {
      const { cost } = charges[i] as Charge;
      catchUp(account, spec, { actor: "", atMs: nowMs });
      const allowed = cost <= account.balance;
      return toBlocked(toVerdict(account, cost, { allowed, nowMs }), blockedUntilMs - nowMs);
    });
  }

  async debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    const isReading = charges.every(({ cost, isAnyTier }) => cost === 0 && isAnyTier === true);
    if (!isReading) return (await this.#act("debit", charges)).map(({ status }) => status);
    // An operator's question, whose limit may be that of another tier: an account that is open keeps its quota.
    const nowMs = this.#nowMs();
    const read = await this.#read(charges, nowMs);
    return read.map(({ account }) => {
      endExpired(account, { actor: "", atMs: nowMs });
      return toStatus(account, nowMs);
    });
  }

  async settle(settlings: readonly Settling[]): Promise<void> {
    this.#mustBeOpen();
    for (const { kept } of settlings) mustBeWhole(kept);
    await this.#commit.run(new SettleOperation(settlings));
  }

  /** Returns the units that each charge got back, for one that is sent again those of the first time. */
  async refund(charges: readonly Charge[]): Promise<readonly number[]> {
    return (await this.#act("refund", charges)).map(({ units }) => units);
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    await this.#act("reset", charges);
  }

  async block(
    scope: string,
    key: string,
    { untilMs, nowMs }: { untilMs: number; nowMs: number },
  ): Promise<void> {
    this.#mustBeOpen();
    const endMs = Math.ceil(this.#nowMs() + untilMs - nowMs);
    const values = [scope, toSubject(key), Number.isFinite(endMs) ? endMs : null];
    await this.#database.query(statements.writeBlock, values);
  }

  async unblock(scope: string, key: string): Promise<void> {
    this.#mustBeOpen();
    await this.#database.query(statements.deleteBlock, [scope, toSubject(key)]);
  }

  /** Returns reservations that expired. Resolves with how many; several processes may sweep at the same time. */
  async sweep(): Promise<number> {
    const values = [this.#nowMs(), SWEEP_MAX];
    const due = await this.#database.query<{ account_id: string; sequence: number }>(
      statements.dueHolds,
      values,
    );
    const returned = await Promise.all(
      due.map(async ({ account_id: id, sequence }) => {
        const [entry] = await this.#database.query<EntryRow>(statements.readEntry, [id, sequence]);
        return entry !== undefined && this.#commit.run(new ExpireOperation(entry));
      }),
    );
    return returned.filter(Boolean).length;
  }

  /** Waits for what is under way. The database is its owner's to close. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweeping();
    await this.#commit.drain();
  }

  async #act(name: ActName, charges: readonly Charge[]): Promise<readonly ActResult[]> {
    this.#mustBeOpen();
    for (const { cost } of charges) mustBeWhole(cost);
    const nowMs = this.#nowMs();
    const acts = charges.map((charge) => ({
      spec: toSpec(charge, nowMs),
      units: charge.cost,
      isAnyTier: charge.isAnyTier === true,
      ...toNamed(charge, nowMs),
    }));
    return this.#commit.run(new ActOperation(name, acts, this.#nextKey()));
  }

  #read(charges: readonly Charge[], nowMs: number): Promise<readonly AccountRead[]> {
    this.#mustBeOpen();
    return readAccounts(this.#database, charges, nowMs);
  }

  #nextKey(): string {
    return `op:${this.#options.keyPrefix}-${++this.#operations}`;
  }

  #nowMs(): number {
    return Math.floor(this.#options.clock.now());
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this ledger");
  }
}

/** What an act that may be sent again is known by. */
function toNamed(charge: Charge, nowMs: number) {
  const { requestId } = charge;
  if (requestId === undefined) return {};
  const idempotencyKey = `act:${toSubject(requestId)}`;
  return { idempotencyKey, neighbours: neighboursOf(charge, nowMs) };
}

function mustBeWhole(cost: number): void {
  if (Number.isSafeInteger(cost) && cost >= 0) return;
  throw new SluiceError("SLUICE_COST_INVALID", `a ledger counts whole units, got ${cost}`);
}
