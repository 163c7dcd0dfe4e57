// The status of a subject's quotas: what was granted, used and held in the period, and when it is expected to run
// out.

import type { Reader } from "../../database/database.js";
import { Account } from "../accounts/account.js";
import type { AccountRow } from "../accounts/account-row.js";
import { QUOTA_GRANT } from "../accounts/grants.js";
import { statements } from "../sql/statements.js";
import { type Forecast, forecastRunOut } from "../usage/forecast.js";
import { readUsage } from "./usage.js";

/** Whose quotas are meant. */
export interface QuotaFilter {
  /** The key as the rule counts it: `tenant:acme`. */
  readonly subject: string;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
  readonly nowMs: number;
  /** For the days of forecasts. */
  readonly timeZone: string;
}

/** Units that are held and not settled yet. */
export interface HeldUnits {
  readonly reserved: number;
  /** In leases, which nodes spend by themselves. */
  readonly leased: number;
}

/** How one quota stands. `granted` is `used`, `held` and `balance` together. */
export interface QuotaStatus {
  readonly accountId: string;
  readonly meter: string;
  /** Which of the limits of the rule. */
  readonly part: number;
  readonly subject: string;
  readonly period: { readonly startMs: number; readonly endMs: number };
  /** The quota of the period, by rule or plan. */
  readonly quota: number;
  /** The quota, top-ups and what was carried over. */
  readonly granted: number;
  readonly used: number;
  readonly held: HeldUnits;
  /** What is left; below zero if more was used than granted. */
  readonly balance: number;
  /** Undefined if nothing was used. */
  readonly forecast: Forecast | undefined;
}

/** The quotas of a subject in the periods that hold `nowMs`. Meters that it has not used are left out. */
export async function readQuotas(reader: Reader, filter: QuotaFilter): Promise<QuotaStatus[]> {
  const { subject, meter = null, nowMs } = filter;
  const values = [subject, meter, nowMs];
  const rows = await reader.query<AccountRow>(statements.listAccountsOfSubject, values);
  const statuses: QuotaStatus[] = [];
  for (const row of rows) statuses.push(await toStatus(reader, row, filter));
  return statuses;
}

async function toStatus(
  reader: Reader,
  row: AccountRow,
  filter: QuotaFilter,
): Promise<QuotaStatus> {
  const { nowMs, timeZone } = filter;
  const { id, meter, part, subject, quota } = row;
  const period = { startMs: row.starts_at_ms, endMs: row.ends_at_ms };
  const { granted, balance } = balanceOf(row, nowMs);
  const held = await readHeld(reader, id);
  const span = { fromMs: period.startMs, toMs: period.endMs };
  const [usage] = await readUsage(reader, { subject, meter, part, timeZone, ...span });
  const forecast = forecastRunOut({
    usage: usage?.days ?? [],
    remaining: balance,
    period,
    nowMs,
    timeZone,
  });
  const used = granted - balance - held.reserved - held.leased;
  return {
    accountId: id,
    meter,
    part,
    subject,
    period,
    quota,
    granted,
    used,
    held,
    balance,
    forecast,
  };
}

/** Grants that have expired end with the next entry; here they are gone already. */
export function balanceOf(row: AccountRow, nowMs: number): { granted: number; balance: number } {
  const { granted, balance, grants } = new Account(row);
  const ended = grants.filter(
    ({ sequence, expiresAtMs }) => sequence !== QUOTA_GRANT && expiresAtMs <= nowMs,
  );
  const units = ended.reduce((sum, { left }) => sum + left, 0);
  return { granted: granted - units, balance: balance - units };
}

async function readHeld(reader: Reader, accountId: string): Promise<HeldUnits> {
  const rows = await reader.query<{ kind: string; units: number }>(statements.sumHolds, [
    accountId,
  ]);
  const unitsOf = (kind: string) => rows.find((row) => row.kind === kind)?.units ?? 0;
  return { reserved: unitsOf("reserve"), leased: unitsOf("lease") };
}
