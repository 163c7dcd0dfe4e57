// A node that sends webhooks, as a process of its own, so that a test can kill it at any moment.

import { openDatabase } from "../../dist/database/open-database.js";
import { Webhooks } from "../../dist/ledger/webhooks/webhooks.js";
import { silentTelemetry } from "../../dist/telemetry/silent-telemetry.js";

const [databaseUrl, url, secret] = process.argv.slice(2);
const webhook = { name: "billing", url, secrets: [secret], isEnabled: true, timeoutMs: 5_000, caFile: undefined };
const webhooks = new Webhooks({
  database: openDatabase(databaseUrl, "/"),
  webhooks: [webhook],
  telemetry: silentTelemetry(),
});
webhooks.start();
// Timers of the service keep no process alive.
setInterval(() => {}, 60_000);
