// Events of quotas as the ledger writes them, for tests that need events and no quota.

import type { Database } from "../../src/database/database.js";

/** Writes an event of an account, which is made if it is not there, and returns the event's id. */
export async function addQuotaEvent(
  database: Database,
  {
    subject = "tenant:acme",
    sharePercent = 80,
    atMs,
  }: { subject?: string; sharePercent?: number; atMs: number },
): Promise<string> {
  const accountId = `account-of-${subject}`;
  await database.query(
    "INSERT INTO ledger_accounts VALUES ($1, 'exports', 0, $2, 0, 1000, 100, 20, '{}', 1, '') ON CONFLICT (id) DO NOTHING",
    [accountId, subject],
  );
  const id = `${accountId}:${sharePercent}`;
  const body = { type: "quota.reached", meter: "exports", subject, sharePercent, used: 80, atMs };
  await database.query(
    "INSERT INTO ledger_events (id, account_id, share_percent, at_ms, body) VALUES ($1, $2, $3, $4, $5)",
    [id, accountId, sharePercent, atMs, JSON.stringify(body)],
  );
  return id;
}
