// What nodes say they admitted against what the ledger has charged. A strict rule answers after its entry is committed, so
// its uses are what was admitted. Under leases a node admits by itself and says how many units it spent (`kept`) when it
// returns the block; until then the whole block is charged. The difference is named: who holds which block.

import type { Reader, Row } from "../../database/database.js";
import type { EntryDetails } from "../accounts/entry.js";
import { statements } from "../sql/statements.js";

/** What is compared. */
export interface ReconcileFilter {
  /** The periods that hold this time. */
  readonly atMs: number;
  /** By which leases are overdue. */
  readonly nowMs: number;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
}

/** One meter in one period. `charged` is all the others together. */
export interface Reconciled {
  readonly meter: string;
  readonly part: number;
  readonly period: { readonly startMs: number; readonly endMs: number };
  /** Units that the ledger has charged. */
  readonly charged: number;
  /** Units that nodes say they admitted. */
  readonly admitted: number;
  /** In blocks that were not returned yet. */
  readonly leased: number;
  /** In reservations that were not settled yet. */
  readonly reserved: number;
  /** Returned when their grant had ended, or after an operator had refunded them: they stay charged. */
  readonly lapsed: number;
  /** What nothing explains: 0 unless an entry is wrong, or one was added while this was read. */
  readonly unexplained: number;
}

/** A block or reservation that is open. */
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

/** What was found. */
export interface Reconciliation {
  readonly meters: readonly Reconciled[];
  /** The largest, the overdue ones first. */
  readonly holds: readonly OpenHold[];
  readonly holdCount: number;
}

const PAGE_SIZE = 2_000;
/** How many holds are listed. */
const HOLDS_LISTED = 100;

/** Compares what was admitted with what was charged. */
export async function reconcile(
  reader: Reader,
  { atMs, nowMs, meter }: ReconcileFilter,
): Promise<Reconciliation> {
  const sums = new Sums();
  const filter = [atMs, meter ?? null];
  for (const row of await reader.query<ChargeRow>(statements.sumCharges, filter))
    sums.addCharges(row);
  for await (const row of rowsOf<SettlementRow>(reader, statements.listSettlements, filter))
    sums.addSettlement(row);
  const listed = new ListedHolds();
  for await (const row of rowsOf<HoldRow>(reader, statements.listOpenHolds, filter)) {
    sums.addHold(row);
    listed.add(toHold(row, nowMs));
  }
  return { meters: sums.toList(), holds: listed.toList(), holdCount: listed.count };
}

interface MeterRow extends Row {
  readonly meter: string;
  readonly part: number;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
}

interface ChargeRow extends MeterRow {
  readonly charged: number;
  readonly used: number;
}

interface KeyedRow extends MeterRow {
  readonly account_id: string;
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
}

interface SettlementRow extends KeyedRow {
  readonly details: string | null;
  readonly settled_kind: string;
  readonly settled_amount: number;
}

interface HoldRow extends KeyedRow {
  readonly subject: string;
  readonly holder: string;
  readonly expires_at_ms: number;
}

async function* rowsOf<R extends KeyedRow>(
  reader: Reader,
  sql: string,
  filter: readonly (string | number | null)[],
): AsyncGenerator<R> {
  let after: readonly [string, number] = ["", 0];
  for (;;) {
    const rows = await reader.query<R>(sql, [...after, ...filter, PAGE_SIZE]);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_SIZE) return;
    after = [last.account_id, last.sequence];
  }
}

interface Sum extends Omit<Reconciled, "unexplained" | "admitted"> {
  charged: number;
  admitted: number;
  leased: number;
  reserved: number;
  lapsed: number;
}

/** What is added up, by meter and period. */
class Sums {
  readonly #sums = new Map<string, Sum>();

  addCharges(row: ChargeRow): void {
    const sum = this.#of(row);
    sum.charged += row.charged;
    sum.admitted += row.used;
  }

  addSettlement(row: SettlementRow): void {
    const sum = this.#of(row);
    const { amount, kind } = row;
    const held = -row.settled_amount;
    if (kind === "expire") {
      sum.lapsed += held - amount;
      return;
    }
    const { kept = 0 } = JSON.parse(row.details ?? "{}") as EntryDetails;
    // A use counts as it was charged; what settles it says what it really was.
    sum.admitted += row.settled_kind === "use" ? kept - held : kept;
    // What had expired was back already, so that all that was kept is charged again.
    const isLate = amount === -kept && row.settled_kind === "reserve";
    if (!isLate) sum.lapsed += held - kept - amount;
  }

  addHold(row: HoldRow): void {
    const sum = this.#of(row);
    if (row.kind === "lease") sum.leased += row.amount;
    else sum.reserved += row.amount;
  }

  toList(): Reconciled[] {
    return [...this.#sums.values()].map((sum) => {
      const { charged, admitted, leased, reserved, lapsed } = sum;
      return { ...sum, unexplained: charged - admitted - leased - reserved - lapsed };
    });
  }

  #of({ meter, part, starts_at_ms: startMs, ends_at_ms: endMs }: MeterRow): Sum {
    const name = JSON.stringify([meter, part, startMs, endMs]);
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      const none = { charged: 0, admitted: 0, leased: 0, reserved: 0, lapsed: 0 };
      sum = { meter, part, period: { startMs, endMs }, ...none };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}

/** Keeps the holds that matter most, however many there are. */
class ListedHolds {
  count = 0;
  #holds: OpenHold[] = [];

  add(hold: OpenHold): void {
    this.count++;
    this.#holds.push(hold);
    if (this.#holds.length >= 2 * HOLDS_LISTED) this.#holds = this.toList();
  }

  toList(): OpenHold[] {
    const order = (a: OpenHold, b: OpenHold) =>
      Number(b.isOverdue) - Number(a.isOverdue) || b.units - a.units;
    return [...this.#holds].sort(order).slice(0, HOLDS_LISTED);
  }
}

function toHold(row: HoldRow, nowMs: number): OpenHold {
  const { account_id: accountId, meter, subject, sequence, amount: units, holder } = row;
  const { expires_at_ms: expiresAtMs } = row;
  const kind = row.kind === "lease" ? "lease" : "reserve";
  const isOverdue = expiresAtMs <= nowMs;
  return { accountId, meter, subject, sequence, kind, units, holder, expiresAtMs, isOverdue };
}
