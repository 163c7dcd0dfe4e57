// A batch on accounts as this process last left them: decided without asking, then written if the accounts are still the
// same, blocks have not been put on them, and none of the entries that the operations would have looked for is there.

import type { Database } from "../../database/database.js";
import { catchUp } from "../accounts/periods.js";
import type { CommitBatch, ReportResult } from "./batch.js";
import { writeUnchanged } from "./write-unchanged.js";

/** What came of a batch. Without reports nothing was written: it has to be run under locks. */
export interface CachedResult {
  readonly reports?: readonly ReportResult[];
  /** Accounts that another process has changed. */
  readonly changedIds: readonly string[];
}

/** Runs a batch to which its accounts were added out of the cache. */
export async function runCached(database: Database, batch: CommitBatch): Promise<CachedResult> {
  for (const spec of batch.specs) catchUp(batch.account(spec.id), spec, batch.writer);
  const absent = batch.nextLookups(false);
  const reports = batch.apply();
  const changes = batch.takeChanges();
  // Once for each account and share: not worth a place in the statement.
  if (changes.events.length > 0) return { changedIds: [] };
  const accounts = [...batch.accounts];
  const changedIds = await writeUnchanged(database, {
    accounts,
    changes,
    absent,
    writer: batch.writer,
  });
  return changedIds === undefined ? { reports, changedIds: [] } : { changedIds };
}
