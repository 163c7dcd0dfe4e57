// What reconciling adds up, by meter and period: what the entries say, what processes have reported, and how far the two
// may be apart without anything being wrong.

import type { Row } from "../../database/database.js";
import type { EntryDetails } from "../accounts/entry.js";

/** One meter in one period. */
export interface Reconciled {
  readonly meter: string;
  readonly part: number;
  readonly period: { readonly startMs: number; readonly endMs: number };
  /** Units that the ledger has charged: those that are settled, and all that is `leased`, `reserved` or `lapsed`. */
  readonly charged: number;
  /** Units that processes counted when they answered, from the ledger or from a lease. */
  readonly admitted: number;
  /** Units of requests that were sent again under their id and answered as before. */
  readonly repeated: number;
  /** Units that processes admitted by `onStoreFailure` while the ledger did not answer: few of them are charged. */
  readonly uncharged: number;
  /** In leases that were not returned yet. */
  readonly leased: number;
  /** In reservations that were not settled yet. */
  readonly reserved: number;
  /** Returned when their grant had ended, or after an operator had refunded them: they stay charged. */
  readonly lapsed: number;
  /** Charged, and not yet reported by the process that charged it, which may have died. */
  readonly unreported: number;
  /**
   * What the entries do not explain of what is charged: 0 unless an entry is wrong, or one was added while this was read.
   */
  readonly unexplained: number;
  /** Units that were admitted beyond all that was charged; below zero: charged, and admitted by no process. */
  readonly drift: number;
}

/** A row about one meter in one period. */
export interface MeterRow extends Row {
  readonly meter: string;
  readonly part: number;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
}

/** What the entries charge. */
export interface ChargeRow extends MeterRow {
  readonly charged: number;
  readonly used: number;
  readonly unreported: number;
}

/** What processes admitted. */
export interface AdmissionRow extends MeterRow {
  readonly source: string;
  readonly units: number;
}

/** A row about one entry. */
export interface KeyedRow extends MeterRow {
  readonly account_id: string;
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
}

/** What settles a charge. */
export interface SettlementRow extends KeyedRow {
  readonly details: string | null;
  readonly settled_kind: string;
  readonly settled_amount: number;
  readonly is_late: number;
  readonly is_reported: number;
}

interface Sum extends Pick<Reconciled, "meter" | "part" | "period"> {
  charged: number;
  /** Used and settled, as the entries say. */
  used: number;
  leased: number;
  reserved: number;
  lapsed: number;
  /** In reservations that were never settled. */
  expired: number;
  /** The most that may not have been reported. */
  unreportedMax: number;
  readonly admitted: Record<string, number>;
}

/** What is added up, by meter and period. */
export class Sums {
  readonly #sums = new Map<string, Sum>();

  addCharges(row: ChargeRow): void {
    const sum = this.#of(row);
    sum.charged += row.charged;
    sum.used += row.used;
    sum.unreportedMax += row.unreported;
  }

  addAdmissions(row: AdmissionRow): void {
    const { admitted } = this.#of(row);
    admitted[row.source] = (admitted[row.source] ?? 0) + row.units;
  }

  addSettlement(row: SettlementRow): void {
    const sum = this.#of(row);
    const { amount, kind } = row;
    const held = -row.settled_amount;
    if (kind === "expire") {
      sum.lapsed += held - amount;
      sum.expired += held;
      return;
    }
    const { kept = 0 } = JSON.parse(row.details ?? "{}") as EntryDetails;
    // A use counts as it was charged; what settles it says what it really was.
    sum.used += row.settled_kind === "use" ? kept - held : kept;
    if (row.is_reported === 0) sum.unreportedMax += kept;
    // What had expired was back already, so that all that was kept is charged again.
    if (row.is_late === 1) sum.expired -= held;
    else sum.lapsed += held - kept - amount;
  }

  addHold(row: KeyedRow): void {
    const sum = this.#of(row);
    if (row.kind === "lease") sum.leased += row.amount;
    else sum.reserved += row.amount;
  }

  toList(): Reconciled[] {
    return [...this.#sums.values()].map(toReconciled);
  }

  #of({ meter, part, starts_at_ms: startMs, ends_at_ms: endMs }: MeterRow): Sum {
    const name = JSON.stringify([meter, part, startMs, endMs]);
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      const none = { charged: 0, used: 0, leased: 0, reserved: 0, lapsed: 0, expired: 0 };
      sum = { meter, part, period: { startMs, endMs }, ...none, unreportedMax: 0, admitted: {} };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}

function toReconciled(sum: Sum): Reconciled {
  const { meter, part, period, charged, used, leased, reserved, lapsed, expired } = sum;
  const { charged: counted = 0, edge = 0, repeated = 0, uncharged = 0 } = sum.admitted;
  // What was answered twice, or by the fallback, may have been charged; and so may have been, in the period before or
  // after, what was admitted at the edge of this one.
  const counts = { min: counted, max: counted + edge + repeated + uncharged };
  // A reservation counts from when it was made, even if it expired; of an open lease between nothing and all was spent.
  const known = used + reserved + expired;
  const entries = { min: known - sum.unreportedMax, max: known + leased };
  return {
    meter,
    part,
    period,
    charged,
    admitted: counted + edge,
    repeated,
    uncharged,
    leased,
    reserved,
    lapsed,
    unreported: Math.min(sum.unreportedMax, Math.max(0, known - counts.max)),
    unexplained: charged - used - leased - reserved - lapsed,
    drift: Math.max(0, counts.min - entries.max) - Math.max(0, entries.min - counts.max),
  };
}
