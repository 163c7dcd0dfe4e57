// Reports to the database what this process admitted, for comparison with what was charged. A report is sent until
// the database has it; meanwhile the next one is counted. If the process dies, only what it admitted since its last
// report is lost, and its entry among the reporters shows since when.

import type { AdmissionMeter, Clock } from "sluice";
import { every } from "../../base/clock.js";
import { randomId } from "../../base/random-id.js";
import type { Database, SqlValue } from "../../database/database.js";
import { runOverRows } from "../../database/row-lists.js";
import { statements } from "../sql/statements.js";
import { AdmissionCounts, type AdmittedUnits } from "./admission-counts.js";

/** Options of {@link AdmissionReporter}. */
export interface AdmissionReporterOptions {
  /** The process, as entries of the ledger name it. */
  readonly actor: string;
  /** Wall time. */
  readonly clock: Clock;
  /** Default 5,000; 0 is never. */
  readonly reportMs?: number;
}

const REPORT_MS = 5_000;
const IDLE_MS = 30_000;

/** A process that has not reported for this long has died, or can't reach the database. */
export const SILENT_MS = 60_000;

/** Counts admissions, and reports them every few seconds. */
export class AdmissionReporter {
  readonly #counts = new AdmissionCounts();
  readonly #options: AdmissionReporterOptions;
  readonly #run = randomId(9);
  readonly #startedAtMs: number;
  #database: Database | undefined;
  #stop = () => {};
  /** What is being reported. */
  #sending: { readonly rows: readonly SqlValue[][]; readonly atMs: number } | undefined;
  #reports = 0;
  #reportedAtMs: number | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(options: AdmissionReporterOptions) {
    this.#options = options;
    this.#startedAtMs = this.#nowMs();
  }

  /** What a policy counts its admissions with. */
  get meter(): AdmissionMeter {
    return this.#counts;
  }

  /** Reports to this database from now on. */
  open(database: Database): void {
    this.#database = database;
    const { reportMs = REPORT_MS } = this.#options;
    // One that fails is sent again with the next.
    const report = () => void this.report().catch(() => {});
    if (reportMs > 0) this.#stop = every(reportMs, report);
  }

  /** Reports what was admitted up to now, unless nothing ever was. One report is sent at a time. */
  report(): Promise<void> {
    const report = this.#last.catch(() => {}).then(() => this.#report(false));
    this.#last = report;
    return report;
  }

  /** The last report. Never fails: what can't be reported is lost with the process. */
  async close(): Promise<void> {
    this.#stop();
    await this.report().catch(() => {});
    if (this.#sending === undefined) await this.#report(true).catch(() => {});
  }

  async #report(hasEnded: boolean): Promise<void> {
    const database = this.#database;
    if (database === undefined || (this.#sending === undefined && !this.#isDue(hasEnded))) return;
    this.#sending ??= this.#toReport();
    const { rows, atMs } = this.#sending;
    const query = database.query.bind(database);
    await runOverRows(query, statements.addAdmissions, rows);
    const { actor } = this.#options;
    const reporter = [this.#run, actor, this.#startedAtMs, atMs, Number(hasEnded)];
    await database.query(statements.writeReporter, reporter);
    this.#sending = undefined;
    this.#reportedAtMs = atMs;
  }

  /** A process that admits nothing reports now and then regardless: it is alive. */
  #isDue(hasEnded: boolean): boolean {
    if (!this.#counts.isEmpty) return true;
    if (this.#reportedAtMs === undefined) return false;
    return hasEnded || this.#nowMs() - this.#reportedAtMs >= IDLE_MS;
  }

  #toReport(): { rows: SqlValue[][]; atMs: number } {
    const atMs = this.#nowMs();
    const report = ++this.#reports;
    const rows = merged(this.#counts.take()).map((each) => [
      each.accountId,
      this.#run,
      each.source,
      each.name.meter,
      each.name.part,
      each.name.subject,
      each.name.startsAtMs,
      each.endsAtMs,
      each.units,
      report,
    ]);
    return { rows, atMs };
  }

  #nowMs(): number {
    return Math.floor(this.#options.clock.now());
  }
}

/** One row for an account and a source: a statement must not name a row twice. */
function merged(all: readonly AdmittedUnits[]): AdmittedUnits[] {
  const byRow = new Map<string, AdmittedUnits>();
  for (const each of all) {
    const name = `${each.accountId} ${each.source}`;
    const units = each.units + (byRow.get(name)?.units ?? 0);
    byRow.set(name, { ...each, units });
  }
  return [...byRow.values()].filter(({ units }) => units !== 0);
}
