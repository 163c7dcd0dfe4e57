// The signature of a webhook: an HMAC over the time of sending and the body, in the way that receivers know from Stripe.
// The time is signed too, so that a recorded request can't be sent again much later.

import { createHmac } from "node:crypto";

/** The names of the headers of a webhook, in lower case. */
export const WEBHOOK_HEADERS = {
  eventId: "sluice-event-id",
  timestamp: "sluice-timestamp",
  signature: "sluice-signature",
} as const;

/** The headers of a webhook, by their names. */
export type WebhookHeaders = Readonly<
  Record<(typeof WEBHOOK_HEADERS)[keyof typeof WEBHOOK_HEADERS], string>
>;

/** Options of {@link signWebhook}. */
export interface SignWebhookOptions {
  readonly eventId: string;
  /** As it is sent, byte for byte. */
  readonly body: string;
  /** The newest first; each adds a signature, so that a receiver may know any of them. At least one. */
  readonly secrets: readonly string[];
  /** When it is sent, in Unix milliseconds. The header has whole seconds. */
  readonly nowMs: number;
}

/** The version of the scheme, in front of each signature. */
export const SCHEME = "v1";

/** The headers that a webhook is sent with. */
export function signWebhook(options: SignWebhookOptions): WebhookHeaders {
  const { eventId, body, secrets, nowMs } = options;
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets.map(
    (secret) => `${SCHEME}=${signatureOf(secret, timestamp, body).toString("hex")}`,
  );
  return {
    [WEBHOOK_HEADERS.eventId]: eventId,
    [WEBHOOK_HEADERS.timestamp]: timestamp,
    [WEBHOOK_HEADERS.signature]: signatures.join(","),
  };
}

/** HMAC-SHA256 of `timestamp.body`. */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
}
