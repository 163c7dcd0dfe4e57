// Queries of the ledger: the status of quotas, what was used on which day, which entries there are, and whether all
// of it is intact. It only reads.

import type { Database } from "../../database/database.js";
import type { LedgerReport } from "../verify/report.js";
import { hasVerifyThreads, verifyInThreads } from "../verify/verify-in-threads.js";
import { verifyLedger } from "../verify/verify-ledger.js";
import {
  type AccountEntry,
  countEntries,
  type EntryCursor,
  type EntryFilter,
  entryPages,
  listEntries,
} from "./entry-pages.js";
import { type QuotaShare, readQuotaShares, type SharesFilter } from "./quota-shares.js";
import { type QuotaFilter, type QuotaStatus, readQuotas } from "./quota-status.js";
import { type ReconcileFilter, type Reconciliation, reconcile } from "./reconcile.js";
import { type MeterUsage, readUsage, type UsageFilter } from "./usage.js";

/** Reads the ledger. All methods reject with `SLUICE_DATABASE_UNAVAILABLE` while the database is unavailable. */
export class LedgerReader {
  readonly #database: Database;
  readonly #url: string | undefined;

  /** @param url - Of the database, with an absolute path: it is verified by threads of their own. Default: in this one. */
  constructor(database: Database, url?: string) {
    this.#database = database;
    this.#url = url;
  }

  /** How the quotas of a subject stand. */
  quotas(filter: QuotaFilter): Promise<QuotaStatus[]> {
    return readQuotas(this.#database, filter);
  }

  /** The quotas of all subjects with a prefix, the most used first. */
  shares(filter: SharesFilter): Promise<QuotaShare[]> {
    return readQuotaShares(this.#database, filter);
  }

  /** What a subject used, by meter and day. */
  usage(filter: UsageFilter): Promise<MeterUsage[]> {
    return readUsage(this.#database, filter);
  }

  /** A page of entries, the earliest first. */
  entries(
    filter: EntryFilter,
    page: { readonly after?: EntryCursor | undefined; readonly limit: number },
  ): Promise<AccountEntry[]> {
    return listEntries(this.#database, filter, page);
  }

  /** All entries, page by page. */
  entryPages(filter: EntryFilter): AsyncGenerator<readonly AccountEntry[]> {
    return entryPages(this.#database, filter);
  }

  /** How many entries there are. */
  countEntries(filter: EntryFilter): Promise<number> {
    return countEntries(this.#database, filter);
  }

  /** What nodes say they admitted against what was charged. */
  reconcile(filter: ReconcileFilter): Promise<Reconciliation> {
    return reconcile(this.#database, filter);
  }

  /** Whether the ledger is intact. */
  verify(): Promise<LedgerReport> {
    const url = hasVerifyThreads ? this.#url : undefined;
    return url === undefined ? verifyLedger(this.#database) : verifyInThreads(url);
  }
}
