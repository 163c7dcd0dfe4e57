// The quotas of all tenants by the share that is used, page by page. The database orders them by what is left of the quota
// itself; top-ups are taken into account in what is answered.

import type { Reader } from "../../database/database.js";
import type { AccountRow } from "../accounts/account-row.js";
import { statements } from "../sql/statements.js";
import { balanceOf, type QuotaStatus } from "./quota-status.js";

/** Which quotas are meant. */
export interface SharesFilter {
  /** What the subject begins with: `tenant:ac`. */
  readonly prefix: string;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
  readonly nowMs: number;
  /** How many come before the page. */
  readonly offset: number;
  readonly limit: number;
}

/** How much of one quota is used. `used` includes what is reserved and leased. */
export type QuotaShare = Pick<
  QuotaStatus,
  "accountId" | "meter" | "part" | "subject" | "period" | "granted" | "used" | "balance"
>;

/** A page of quotas, the most used first. */
export async function readQuotaShares(reader: Reader, filter: SharesFilter): Promise<QuotaShare[]> {
  const { prefix, meter = null, nowMs, offset, limit } = filter;
  const values = [nowMs, prefix, meter, limit, offset];
  const rows = await reader.query<AccountRow>(statements.listQuotaShares, values);
  return rows.map((row) => toShare(row, nowMs));
}

function toShare(row: AccountRow, nowMs: number): QuotaShare {
  const { id: accountId, meter, part, subject } = row;
  const period = { startMs: row.starts_at_ms, endMs: row.ends_at_ms };
  const { granted, balance } = balanceOf(row, nowMs);
  return { accountId, meter, part, subject, period, granted, used: granted - balance, balance };
}
