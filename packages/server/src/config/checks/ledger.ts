// Checks the section of the ledger: it has one database, and every webhook has a protected connection and a secret.

import { isLoopback } from "../../base/http/loopback.js";
import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";

/** Each may have a few requests in flight. */
const WEBHOOKS_MAX = 20;

type WebhookValues = NonNullable<FileValues["ledger"]>["webhooks"][string];

/**
 * Checks that a control node, whose API shows the ledger, has it in its own database, and that webhooks have a database
 * and a protected way.
 */
export function checkLedger({ ledger, control }: FileValues, problems: ConfigProblems): void {
  if (ledger?.database !== undefined && control?.database !== undefined) {
    problems.add(
      ["ledger", "database"],
      "can't be set beside control.database: a control node keeps the ledger in its own database; remove one of them",
    );
  }
  const webhooks = Object.entries(ledger?.webhooks ?? {});
  if (webhooks.length > 0 && (control?.database ?? ledger?.database) === undefined) {
    problems.add(
      ["ledger", "webhooks"],
      "need the database of the ledger: set control.database or ledger.database",
    );
  }
  if (webhooks.length > WEBHOOKS_MAX) {
    problems.add(["ledger", "webhooks"], `must be at most ${WEBHOOKS_MAX}, got ${webhooks.length}`);
  }
  for (const [name, webhook] of webhooks) checkWebhook(name, webhook, problems);
}

function checkWebhook(name: string, webhook: WebhookValues, problems: ConfigProblems): void {
  const { url, secret, previousSecret, caFile, allowHttp } = webhook;
  const path = ["ledger", "webhooks", name];
  const isHttp = url.startsWith("http:");
  if (isHttp && !allowHttp && !isLoopback(hostOf(url))) {
    problems.add(
      [...path, "url"],
      "must begin with https://, or every machine on the way can read and change what is sent; in a network that is " +
        "trusted set allowHttp: true",
    );
  }
  if (isHttp && caFile !== undefined) {
    problems.add([...path, "caFile"], "needs an https:// URL");
  }
  if (secret === previousSecret) {
    problems.add(
      [...path, "previousSecret"],
      "is the same as secret: leave it out unless the secret is being rotated",
    );
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
}
