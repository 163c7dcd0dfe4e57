// Tokens of a language model, metered by the gateway and kept in a ledger: each request reserves the most that it may
// cost, the answer streams through unchanged, and its last event says what it really cost. The backend below stands for the
// model's API.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig, startService } from "sluice-server";

/** Lets the model go on with its answer. */
let finish = () => {};
/** Resolves when the model's answer has ended, or was cut off. */
let ended = Promise.resolve();

// Streams an answer as OpenAI's chat completions do; the tokens are in the last event.
const backend = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  send({ choices: [{ delta: { content: "Rain on the roof, " } }], usage: null });
  finish = () => {
    send({ choices: [{ delta: { content: "and tea." } }], usage: null });
    send({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 38, total_tokens: 50 } });
    response.end("data: [DONE]\n\n");
  };
  ended = new Promise((resolve) => response.on("close", resolve));
});
await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
const { port } = backend.address() as AddressInfo;

const folder = mkdtempSync(join(tmpdir(), "llm-tokens-"));

// A customer has 10,000 tokens a month. A request reserves its max_tokens, or 1,000 if it has none.
const service = await startService(
  parseConfig(`
version: 1
gateway: { listen: "127.0.0.1:0" }
telemetry: { logLevel: silent }
identity:
  apiKey: { scheme: Bearer }
  bodyBytesMax: 1048576 # Prompts are long.
ledger: { database: "file:${join(folder, "ledger.db")}" }
upstreams: { model: { backends: ["http://127.0.0.1:${port}"] } }
routes: [{ path: /*, upstream: model }]
rules:
  version: 1
  rules:
    - id: tokens
      match: { path: /v1/chat/completions, methods: POST }
      key: apiKey
      limit: { quota: { limit: 10000, period: month } }
      durable: true
      cost: { json: max_completion_tokens | max_tokens, max: 8000, otherwise: 1000 }
      settle: { json: usage.total_tokens }
      when: { statusNot: 5xx }
`),
);
const gateway = service.listeners.find(({ name }) => name === "gateway")?.url ?? "";
const headers = { authorization: "Bearer sk-customer-1", "content-type": "application/json" };

/** Tokens that are left this month, as the customer sees them. */
async function left(): Promise<number> {
  const response = await fetch(`${gateway}/rate_limit`, { headers });
  const { rules } = (await response.json()) as { rules: { remaining: number }[] };
  return rules[0]?.remaining ?? 0;
}

/** Asks the model, and reads the first piece of its answer. */
async function ask(signal?: AbortSignal) {
  const body = JSON.stringify({ model: "gpt", stream: true, max_tokens: 600, messages: [] });
  const url = `${gateway}/v1/chat/completions`;
  const response = await fetch(url, { method: "POST", headers, body, signal: signal ?? null });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  return reader;
}

/** Waits until a request is settled, which is right after its end. */
async function until(tokens: number): Promise<void> {
  while ((await left()) !== tokens) await new Promise((resolve) => setTimeout(resolve, 250));
}

console.log(`at first: ${await left()}`);
const reader = await ask();
console.log(`while it streams: ${await left()}`);
finish();
while (!(await reader.read()).done);
await until(9_950);
console.log("after its 50 tokens: 9950");

// A client that disconnects does not know what it cost, and neither does the gateway: it pays what was reserved.
const client = new AbortController();
await ask(client.signal);
client.abort();
await ended;
console.log(`after one that disconnected: ${await left()}`);

await service.close();
backend.close();
rmSync(folder, { recursive: true });

// Prints:
// at first: 10000
// while it streams: 9400
// after its 50 tokens: 9950
// after one that disconnected: 9350
