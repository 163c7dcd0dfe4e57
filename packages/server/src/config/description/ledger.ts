// The description of the ledger of durable quotas: where it is, how long it holds what is reserved, and who is notified
// when a quota is used up to a set share.

import { mapOf, optional, required, section, withDefault } from "./fields.js";
import { duration, flag } from "./shapes.js";
import { databaseUrl, filePath, secret, text } from "./strings.js";

const DAY_MS = 86_400_000;

/** A secret that is shorter can be found by trying. */
const SECRET_LENGTH_MIN = 16;

const webhookSection = section({
  url: required(
    text({
      what: "an https:// URL without a user name, a password or a fragment",
      type: "an https:// URL",
      pattern: /^https?:\/\/[^\s/?#@]+(?:[/?][^\s#]*)?$/,
      lengthMax: 2_048,
      // Addresses of receivers often have a secret in their path.
      isSecret: true,
      toValue: toWebhookUrl,
    }),
    "Where events are sent, by POST. Plain http is for loopback addresses, and with allowHttp.",
  ),
  secret: required(
    secret(SECRET_LENGTH_MIN),
    "What requests are signed with; the receiver verifies them with the same.",
  ),
  previousSecret: optional(
    secret(SECRET_LENGTH_MIN),
    "While the secret is rotated: the one before. Requests are signed with both, so the receiver may know either.",
  ),
  enabled: withDefault(
    flag(),
    true,
    "Whether anything is sent. While it is false, deliveries wait, and none is lost.",
  ),
  timeoutMs: withDefault(
    duration({ min: 100, max: 60_000 }),
    10_000,
    "How long the receiver may take to answer.",
  ),
  caFile: optional(
    filePath(),
    "The authorities that are trusted for the URL, as PEM; if omitted, those that Node.js includes.",
  ),
  allowHttp: withDefault(
    flag(),
    false,
    "Whether the URL of another machine may be plain http, in a network that is trusted.",
  ),
});

/** The ledger. */
export const ledgerSection = section({
  database: optional(
    databaseUrl(),
    "The database of the ledger. A path is relative to the configuration file. If omitted, that of control; a control node keeps the ledger there and can't have another.",
  ),
  reservationMs: withDefault(
    duration({ min: 1_000, max: 30 * DAY_MS }),
    600_000,
    "How long what a request reserved is held if the request is never settled; then it is returned.",
  ),
  deliveriesKeptMs: withDefault(
    duration({ min: 3_600_000, max: 3_650 * DAY_MS }),
    30 * DAY_MS,
    "How long the list of deliveries keeps those that were delivered or given up; then they are removed.",
  ),
  webhooks: withDefault(
    mapOf(webhookSection),
    {},
    "Receivers of events of quotas, by name. A name identifies its deliveries: keep it.",
  ),
});

function toWebhookUrl(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).href : undefined;
}
