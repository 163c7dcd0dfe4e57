// What processes admitted against what the ledger has charged. Each process counts what it answers, whatever becomes of
// the charge, and reports the count every few seconds. Where the two differ, the difference is named: who holds which
// lease, who was admitted while the ledger did not answer, and which process has stopped reporting.

import type { Reader, Row } from "../../database/database.js";
import { EDGE_MS } from "../admissions/admission-counts.js";
import { SILENT_MS } from "../admissions/admission-reporter.js";
import { statements } from "../sql/statements.js";
import {
  type AdmissionRow,
  type ChargeRow,
  type KeyedRow,
  type Reconciled,
  type SettlementRow,
  Sums,
} from "./reconcile-sums.js";

/** What is compared. */
export interface ReconcileFilter {
  /** The periods that hold this time. */
  readonly atMs: number;
  /** By which leases are overdue. */
  readonly nowMs: number;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
}

/** A lease or reservation that is open. */
export interface OpenHold {
  readonly accountId: string;
  readonly meter: string;
  readonly subject: string;
  /** The number of its entry. */
  readonly sequence: number;
  readonly kind: "reserve" | "lease";
  readonly units: number;
  /** The process that has it. */
  readonly holder: string;
  readonly expiresAtMs: number;
  /** Whether it should have been settled by now: the process of such a lease has died. */
  readonly isOverdue: boolean;
}

/** What one process admitted of an account while the ledger did not answer. */
export interface UnchargedUnits {
  readonly accountId: string;
  readonly meter: string;
  /** `""`: of accounts that the process did not keep apart, because it had too many. */
  readonly subject: string;
  readonly units: number;
  /** The process. */
  readonly holder: string;
}

/** A process that stopped reporting without ending: it has died, or can't reach the database. */
export interface SilentProcess {
  readonly holder: string;
  readonly startedAtMs: number;
  readonly reportedAtMs: number;
}

/** What was found. */
export interface Reconciliation {
  readonly meters: readonly Reconciled[];
  /** The largest, the overdue ones first. */
  readonly holds: readonly OpenHold[];
  readonly holdCount: number;
  /** The largest. */
  readonly uncharged: readonly UnchargedUnits[];
  /** Those that may not have reported all that they admitted in these periods, the latest first. */
  readonly silent: readonly SilentProcess[];
}

const PAGE_SIZE = 2_000;
/** How many holds, accounts and processes are listed. */
const LISTED_MAX = 100;

/** Compares what was admitted with what was charged. */
export async function reconcile(
  reader: Reader,
  { atMs, nowMs, meter }: ReconcileFilter,
): Promise<Reconciliation> {
  const sums = new Sums();
  const filter = [atMs, meter ?? null];
  // Reports first: what is charged while this is read is charged by processes that have not reported it.
  const { sumAdmissions, sumCharges, listSettlements, listOpenHolds } = statements;
  for (const row of await reader.query<AdmissionRow>(sumAdmissions, filter))
    sums.addAdmissions(row);
  for (const row of await reader.query<ChargeRow>(sumCharges, [...filter, EDGE_MS]))
    sums.addCharges(row);
  const settlements = { filter, after: [EDGE_MS] };
  for await (const row of rowsOf<SettlementRow>(reader, listSettlements, settlements))
    sums.addSettlement(row);
  const listed = new ListedHolds();
  for await (const row of rowsOf<HoldRow>(reader, listOpenHolds, { filter, after: [] })) {
    sums.addHold(row);
    listed.add(toHold(row, nowMs));
  }
  const meters = sums.toList();
  const holds = { holds: listed.toList(), holdCount: listed.count };
  const uncharged = await listUncharged(reader, filter);
  const startMs = meters.reduce((least, { period }) => Math.min(least, period.startMs), nowMs);
  return { meters, ...holds, uncharged, silent: await listSilent(reader, { nowMs, startMs }) };
}

async function listUncharged(reader: Reader, filter: Filter): Promise<UnchargedUnits[]> {
  const values = [...filter, LISTED_MAX];
  const rows = await reader.query<UnchargedRow>(statements.listUncharged, values);
  return rows.map(({ account_id: accountId, meter, subject, units, holder }) => {
    return { accountId, meter, subject, units, holder };
  });
}

async function listSilent(
  reader: Reader,
  { nowMs, startMs }: { nowMs: number; startMs: number },
): Promise<SilentProcess[]> {
  const values = [nowMs - SILENT_MS, startMs, LISTED_MAX];
  const rows = await reader.query<ReporterRow>(statements.listSilentReporters, values);
  return rows.map(({ holder, started_at_ms: startedAtMs, reported_at_ms: reportedAtMs }) => {
    return { holder, startedAtMs, reportedAtMs };
  });
}

type Filter = readonly (string | number | null)[];

interface UnchargedRow extends Row {
  readonly account_id: string;
  readonly meter: string;
  readonly subject: string;
  readonly holder: string;
  readonly units: number;
}

interface ReporterRow extends Row {
  readonly holder: string;
  readonly started_at_ms: number;
  readonly reported_at_ms: number;
}

interface HoldRow extends KeyedRow {
  readonly subject: string;
  readonly holder: string;
  readonly expires_at_ms: number;
}

async function* rowsOf<R extends KeyedRow>(
  reader: Reader,
  sql: string,
  { filter, after }: { filter: Filter; after: Filter },
): AsyncGenerator<R> {
  let last: KeyedRow | undefined;
  for (;;) {
    const from = [last?.account_id ?? "", last?.sequence ?? 0];
    const rows = await reader.query<R>(sql, [...from, ...filter, PAGE_SIZE, ...after]);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < PAGE_SIZE) return;
  }
}

/** Keeps the holds that matter most, however many there are. */
class ListedHolds {
  count = 0;
  #holds: OpenHold[] = [];

  add(hold: OpenHold): void {
    this.count++;
    this.#holds.push(hold);
    if (this.#holds.length >= 2 * LISTED_MAX) this.#holds = this.toList();
  }

  toList(): OpenHold[] {
    const order = (a: OpenHold, b: OpenHold) =>
      Number(b.isOverdue) - Number(a.isOverdue) || b.units - a.units;
    return [...this.#holds].sort(order).slice(0, LISTED_MAX);
  }
}

function toHold(row: HoldRow, nowMs: number): OpenHold {
  const { account_id: accountId, meter, subject, sequence, amount: units, holder } = row;
  const { expires_at_ms: expiresAtMs } = row;
  const kind = row.kind === "lease" ? "lease" : "reserve";
  const isOverdue = expiresAtMs <= nowMs;
  return { accountId, meter, subject, sequence, kind, units, holder, expiresAtMs, isOverdue };
}
