// What is sent for an event: the same in every delivery, byte for byte.

/** The body of a webhook, out of an event as the ledger wrote it. */
export function toWebhookBody(eventId: string, eventJson: string): string {
  const { type, atMs, ...data } = JSON.parse(eventJson) as Readonly<Record<string, unknown>>;
  return JSON.stringify({ id: eventId, type, atMs, data });
}
