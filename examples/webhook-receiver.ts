// Receives the webhooks of a service: verifies who sent them, refuses replays, and acts on each event once, however often
// it is delivered. The sender below stands for the service.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { signWebhook, verifyWebhook } from "sluice/webhooks";

const BODY_BYTES_MAX = 65_536;
// While a secret is rotated: the new one and the old one.
const secret = ["whsec-of-this-month-4f1c", "whsec-of-last-month-9a2e"];
// In production a table with a unique column: it has to survive a restart.
const seen = new Set<string>();

/** The body as it was sent, which is what was signed. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes > BODY_BYTES_MAX) throw new Error("the body is too large");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const server = createServer(async (request, response) => {
  const body = await readBody(request);
  const webhook = verifyWebhook({ body, headers: request.headers, secret });
  if (!webhook.valid) {
    response.writeHead(400).end(webhook.problem);
    return;
  }
  const { id, type, data } = webhook.event;
  const isNew = !seen.has(id);
  seen.add(id);
  if (isNew) console.log(`${type}: ${data.subject} used ${data.sharePercent}% of ${data.meter}`);
  // Answer soon, and do long work afterwards: what is not answered is delivered again.
  response.writeHead(204).end();
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const event = {
  id: "evt-1",
  type: "quota.reached",
  atMs: Date.UTC(2026, 4, 20),
  data: { subject: "tenant:acme", meter: "exports", sharePercent: 80 },
};
const body = JSON.stringify(event);

async function send(what: string, secrets: string[], nowMs = Date.now(), sent = body) {
  const headers = signWebhook({ eventId: event.id, body, secrets, nowMs });
  const response = await fetch(url, { method: "POST", headers, body: sent });
  console.log(`${what}: ${response.status} ${await response.text()}`.trimEnd());
}

await send("first delivery", ["whsec-of-last-month-9a2e"]);
await send("delivered again", ["whsec-of-this-month-4f1c"]);
await send("another secret", ["guessed"]);
await send("a body that was changed", secret, Date.now(), body.replace("80", "10"));
await send("a replay after an hour", secret, Date.now() - 3_600_000);
server.close();

// Prints:
// quota.reached: tenant:acme used 80% of exports
// first delivery: 204
// delivered again: 204
// another secret: 400 signature-wrong
// a body that was changed: 400 signature-wrong
// a replay after an hour: 400 timestamp-old
