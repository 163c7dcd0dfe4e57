// The ledger of a service: the store of durable rules, in a database. The database is opened when the first durable rule
// needs it, so that a service without such rules keeps no connections to it.

import {
  type AdmissionMeter,
  type Charge,
  type Clock,
  type CounterStatus,
  type DecideOptions,
  type Outcome,
  type PeekOptions,
  resilient,
  type Settling,
  type Store,
  type Verdict,
} from "sluice";
import type { Config, LedgerConfig } from "../config/config.js";
import type { Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { openDatabase } from "../database/open-database.js";
import { AdmissionReporter } from "../ledger/admissions/admission-reporter.js";
import { LedgerStore } from "../ledger/ledger-store.js";
import { LedgerReader } from "../ledger/queries/ledger-reader.js";
import type { OpenStore, OpenStoreOptions } from "./open-store.js";

/** A ledger, and how long it has been unavailable. */
export interface OpenLedger extends OpenStore {
  /** Opens the database now, so that the first request does not wait for it. Failures are logged and tried again. */
  open(): void;
  /** Reads what was charged; opens the database if it is not open yet. Absent if the ledger is not in a database. */
  reader?(): Promise<LedgerReader>;
  /** Counts what durable rules admit. Absent if the ledger is not in a database. */
  readonly admissions?: AdmissionMeter;
}

/** What a ledger is opened with. */
export interface OpenLedgerOptions extends OpenStoreOptions {
  /** The name of this process, in entries and in `sluice ledger reconcile`. */
  readonly actor: string;
}

/** Counters of durable rules have their own; this is for what is asked without one. */
const TIMEOUT_MS = 1_000;

/** The ledger that is configured; undefined if there is no database for it. */
export function openLedger(
  { ledger }: Pick<Config, "ledger">,
  { telemetry, clock, actor }: OpenLedgerOptions,
): OpenLedger | undefined {
  const { database, reservationMs } = ledger ?? {};
  if (database === undefined || reservationMs === undefined) return undefined;
  const inner = new LedgerInDatabase({ database, reservationMs }, actor, clock);
  const store = resilient(telemetry.measured(inner, "ledger"), {
    timeoutMs: TIMEOUT_MS,
    onStoreFailure: "closed",
    clock,
    onEvent: (event) => telemetry.fallbackEvent(event, "ledger"),
  });
  telemetry.watch(store);
  const awaySinceMs = () => store.stats.sinceMs;
  return {
    store,
    name: nameOf(database),
    awaySinceMs,
    problem: () => (awaySinceMs() === undefined ? undefined : AWAY),
    known: Promise.resolve(),
    open: () => {
      inner.open().catch((error) => telemetry.problem("the ledger can't be opened", error));
    },
    reader: () => inner.reader(),
    admissions: inner.reporter.meter,
    close: async () => store.close(),
  };
}

const AWAY = "the ledger does not answer; durable rules decide by onStoreFailure until it is back";

/** Nothing of an address that may be secret. */
function nameOf(database: string): string {
  return database.startsWith("file:") ? "SQLite" : "PostgreSQL";
}

/** A ledger whose database is opened, and brought to the schema of this version, by the first call. */
class LedgerInDatabase implements Store {
  readonly isRemote = true;
  readonly reporter: AdmissionReporter;
  readonly #config: Pick<LedgerConfig, "reservationMs"> & { readonly database: string };
  readonly #actor: string;
  readonly #clock: Clock;
  #database: Database | undefined;
  #store: LedgerStore | undefined;
  #opening: Promise<LedgerStore> | undefined;

  constructor(
    config: Pick<LedgerConfig, "reservationMs"> & { readonly database: string },
    actor: string,
    clock: Clock,
  ) {
    this.#config = config;
    this.#actor = actor;
    this.#clock = toWallClock(clock);
    this.reporter = new AdmissionReporter({ actor, clock: this.#clock });
  }

  /** The ledger, once its database has the schema. A failure is forgotten: the next call tries again. */
  open(): Promise<LedgerStore> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async reader(): Promise<LedgerReader> {
    await this.open();
    return new LedgerReader(this.#database as Database);
  }

  async #open(): Promise<LedgerStore> {
    // Paths in it are absolute.
    this.#database ??= openDatabase(this.#config.database, "/");
    await migrate(this.#database);
    const { reservationMs } = this.#config;
    const options = { actor: this.#actor, clock: this.#clock, reservationMs };
    this.#store = new LedgerStore(this.#database, options);
    this.reporter.open(this.#database);
    return this.#store;
  }

  async decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    return (this.#store ?? (await this.open())).decide(charges, options);
  }

  async peek(charges: readonly Charge[], options?: PeekOptions): Promise<readonly Verdict[]> {
    return (this.#store ?? (await this.open())).peek(charges, options);
  }

  async debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    return (this.#store ?? (await this.open())).debit(charges);
  }

  async settle(settlings: readonly Settling[]): Promise<void> {
    return (this.#store ?? (await this.open())).settle(settlings);
  }

  async refund(charges: readonly Charge[]): Promise<readonly number[]> {
    return (this.#store ?? (await this.open())).refund(charges);
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    return (this.#store ?? (await this.open())).reset(charges);
  }

  async block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): Promise<void> {
    return (this.#store ?? (await this.open())).block(scope, key, until);
  }

  async unblock(scope: string, key: string): Promise<void> {
    return (this.#store ?? (await this.open())).unblock(scope, key);
  }

  async close(): Promise<void> {
    // What is being opened is closed too, and what can't be opened has nothing to close but the database.
    await this.#opening?.catch(() => {});
    await this.reporter.close();
    await this.#store?.close();
    await this.#database?.close();
  }
}

/** Periods go by the calendar, whatever the clock of rates does. */
function toWallClock(clock: Clock): Clock {
  return { now: () => clock.wall?.() ?? clock.now() };
}
