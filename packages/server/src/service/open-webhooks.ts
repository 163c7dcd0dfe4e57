// Opens what sends events of quotas: over the database of the control plane, or on a node that has none over the
// ledger's own.

import type { Config } from "../config/config.js";
import type { Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { openDatabase } from "../database/open-database.js";
import { Webhooks } from "../ledger/webhooks/webhooks.js";
import type { Telemetry } from "../telemetry/telemetry.js";

/** Sends until it is closed. */
export interface OpenWebhooks {
  close(): Promise<void>;
}

/**
 * Starts to send; undefined if no webhook is configured.
 *
 * @param shared - The database of the control plane, which stays open; undefined on nodes without one.
 * @throws ServerError if the ledger's own database is a file that can't be opened; what the system says of a `caFile`.
 */
export function openWebhooks(
  { ledger }: Config,
  shared: Database | undefined,
  telemetry: Telemetry,
): OpenWebhooks | undefined {
  if (ledger === undefined || ledger.webhooks.length === 0) return undefined;
  const { webhooks, deliveriesKeptMs: keptMs, database: url } = ledger;
  const common = { webhooks, keptMs, telemetry };
  if (shared !== undefined) return started(new Webhooks({ database: shared, ...common }));
  if (url === undefined) return undefined;
  // Paths in it are absolute.
  const database = openDatabase(url, "/");
  const prepare = () => migrate(database);
  const opened = started(new Webhooks({ database, ...common, prepare }));
  return {
    async close() {
      await opened.close();
      await database.close();
    },
  };
}

function started(webhooks: Webhooks): Webhooks {
  webhooks.start();
  return webhooks;
}
