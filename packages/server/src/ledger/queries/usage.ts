// Usage by meter and day. The database adds entries up by quarters of an hour, at which days begin in every time zone, so
// that a month of a busy account is a few thousand rows.

import type { Reader, Row } from "../../database/database.js";
import { statements } from "../sql/statements.js";
import { type DailyUsage, usageByDay } from "../usage/daily-usage.js";

const QUARTER_MS = 900_000;

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

interface QuarterRow extends Row {
  readonly meter: string;
  readonly part: number;
  readonly quarter: number;
  readonly amount: number;
}

/** The usage of a subject by meter and day. Reservations and leases count until they are returned. */
export async function readUsage(reader: Reader, filter: UsageFilter): Promise<MeterUsage[]> {
  const { subject, meter = null, part, fromMs, toMs, timeZone } = filter;
  const values = [subject, meter, fromMs, toMs];
  const rows = await reader.query<QuarterRow>(statements.sumUsage, values);
  const meters = new Map<string, QuarterRow[]>();
  for (const row of rows) {
    if (part !== undefined && row.part !== part) continue;
    const name = JSON.stringify([row.meter, row.part]);
    const known = meters.get(name);
    if (known === undefined) meters.set(name, [row]);
    else known.push(row);
  }
  return [...meters.values()].map((quarters) => toMeterUsage(quarters, timeZone));
}

function toMeterUsage(quarters: readonly QuarterRow[], timeZone: string): MeterUsage {
  const [{ meter, part }] = quarters as [QuarterRow];
  const days = usageByDay(quarters.map(toUse), timeZone);
  const units = days.reduce((sum, each) => sum + each.units, 0);
  return { meter, part, units, days };
}

/** All entries of a quarter of an hour as one use. */
function toUse({ quarter, amount }: QuarterRow, sequence: number) {
  const atMs = quarter * QUARTER_MS;
  return { accountId: "", sequence, kind: "use", amount, settles: undefined, atMs };
}
