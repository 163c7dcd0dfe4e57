// Usage by meter and day. The database adds entries up by quarters of an hour, at which days begin in every time zone, so
// that a month of a busy account is a few thousand rows. It does so in slices with pauses between them: an account may
// have millions of entries, and decisions use the same database, on SQLite even the same thread.

import { pause, readMs } from "../../base/clock.js";
import type { Reader, Row } from "../../database/database.js";
import { statements } from "../sql/statements.js";
import { type DailyUsage, usageByDay } from "../usage/daily-usage.js";

const QUARTER_MS = 900_000;
/** Entries that one statement adds up: one millisecond on SQLite. */
const SLICE_ENTRIES = 2_000;
/** A pause is this many times as long as the slice before it: reading takes a quarter of the time. */
const PAUSE_FACTOR = 3;

/** Whose usage is meant, and when. */
export interface UsageFilter {
  /** The key as the rule counts it: `tenant:acme`. */
  readonly subject: string;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
  /** Which of its limits. Default: all. */
  readonly part?: number | undefined;
  readonly fromMs: number;
  /** Up to, but not including, this time. */
  readonly toMs: number;
  /** In which days begin. */
  readonly timeZone: string;
}

/** The usage of one meter. */
export interface MeterUsage {
  readonly meter: string;
  /** Which of the limits of the rule. */
  readonly part: number;
  readonly units: number;
  /** Days that have usage, the earliest first. */
  readonly days: readonly DailyUsage[];
}

interface UsedAccount extends Row {
  readonly id: string;
  readonly meter: string;
  readonly part: number;
  /** Of its last entry. */
  readonly sequence: number;
}

/** What entries add to balances, by the quarter of an hour in which they count. */
type Quarters = Map<number, number>;

/** The usage of a subject by meter and day. Reservations and leases count until they are returned. */
export async function readUsage(reader: Reader, filter: UsageFilter): Promise<MeterUsage[]> {
  const { subject, meter = null, part, fromMs, toMs, timeZone } = filter;
  const values = [subject, meter, fromMs, toMs];
  const accounts = await reader.query<UsedAccount>(statements.listAccountsOfSpan, values);
  const meters = new Map<string, { account: UsedAccount; quarters: Quarters }>();
  for (const account of accounts) {
    if (part !== undefined && account.part !== part) continue;
    const name = JSON.stringify([account.meter, account.part]);
    const known = meters.get(name) ?? { account, quarters: new Map() };
    await addSlices(reader, account, filter, known.quarters);
    if (known.quarters.size > 0) meters.set(name, known);
  }
  return [...meters.values()].map(({ account, quarters }) =>
    toMeterUsage(account, quarters, timeZone),
  );
}

/** Adds the entries of an account up to the one that was its last when it was listed. */
async function addSlices(
  reader: Reader,
  { id, sequence }: UsedAccount,
  { fromMs, toMs }: UsageFilter,
  quarters: Quarters,
): Promise<void> {
  for (let first = 0; first < sequence; first += SLICE_ENTRIES) {
    const sinceMs = readMs();
    const last = Math.min(first + SLICE_ENTRIES, sequence);
    const values = [id, first, last, fromMs, toMs];
    const rows = await reader.query<{ quarter: number; amount: number }>(
      statements.sumUsage,
      values,
    );
    for (const { quarter, amount } of rows) {
      quarters.set(quarter, (quarters.get(quarter) ?? 0) + amount);
    }
    if (last < sequence) await pause((readMs() - sinceMs) * PAUSE_FACTOR);
  }
}

function toMeterUsage(
  { meter, part }: UsedAccount,
  quarters: Quarters,
  timeZone: string,
): MeterUsage {
  const days = usageByDay([...quarters].map(toUse), timeZone);
  const units = days.reduce((sum, each) => sum + each.units, 0);
  return { meter, part, units, days };
}

/** All entries of a quarter of an hour as one use. */
function toUse([quarter, amount]: readonly [number, number], sequence: number) {
  const atMs = quarter * QUARTER_MS;
  return { accountId: "", sequence, kind: "use", amount, settles: undefined, atMs };
}
