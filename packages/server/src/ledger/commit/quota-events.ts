// Events of quotas: written when a set share of what was granted is in use, once for each account and share, in the
// transaction of the entry that reached it.

import type { SqlValue } from "../../database/database.js";
import type { Account } from "../accounts/account.js";
import type { AccountSpec } from "../accounts/account-spec.js";

/** The event of a quota of which a set share is in use. */
export interface QuotaEvent {
  readonly type: "quota.reached";
  readonly meter: string;
  readonly subject: string;
  readonly periodStartsAtMs: number;
  readonly periodEndsAtMs: number;
  /** 80 for 80%. */
  readonly sharePercent: number;
  readonly granted: number;
  readonly used: number;
  readonly atMs: number;
}

/** The rows of events that the entries of an account brought about. Notes in the account that they were. */
export function toEvents(account: Account, spec: AccountSpec | undefined): SqlValue[][] {
  const last = account.appended.at(-1);
  if (spec === undefined || last === undefined) return [];
  return spec.durable.alertShares
    .filter((share) => account.usedShare >= share)
    .map((share) => Math.round(share * 100))
    .filter((sharePercent) => account.noteReached(sharePercent))
    .map((sharePercent) => toRow(account, sharePercent, last.at_ms));
}

function toRow(account: Account, sharePercent: number, atMs: number): SqlValue[] {
  const { meter, subject, startsAtMs } = account.name;
  const event: QuotaEvent = {
    type: "quota.reached",
    meter,
    subject,
    periodStartsAtMs: startsAtMs,
    periodEndsAtMs: account.endsAtMs,
    sharePercent,
    granted: account.granted,
    used: account.used,
    atMs,
  };
  return [`${account.id}:${sharePercent}`, account.id, sharePercent, atMs, JSON.stringify(event)];
}
