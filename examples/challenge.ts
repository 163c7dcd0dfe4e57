// A challenge: beyond its limit a caller gets a puzzle, and its solution lifts the limit once. The same pass a second time
// is refused.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { solveChallenge } from "sluice/http";
import { rateLimit } from "sluice/node";

const limit = rateLimit({
  limit: "2/hour",
  onExceed: "challenge",
  challenge: { secrets: "in production, 32 characters from a vault", difficulty: 10 },
});
const server = createServer(limit.wrap((_request, response) => response.end("hello")));
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

async function ask(what: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  console.log(`${what}: ${response.status}`);
  return response;
}

await ask("first");
await ask("second");
const refused = await ask("third");
const { challenge } = (await refused.json()) as { challenge: { token: string; bits: number } };
console.log(`a challenge of ${challenge.bits} bits`);
const pass = solveChallenge(challenge);
await ask("with the pass", { "Sluice-Pass": pass });
await ask("once more without");
await ask("with the same pass", { "Sluice-Pass": pass });

const page = await ask("as a browser", { Accept: "text/html" });
console.log(page.headers.get("content-type"));
server.close();
server.closeAllConnections();
await limit.close();

// Prints:
// first: 200
// second: 200
// third: 429
// a challenge of 10 bits
// with the pass: 200
// once more without: 200
// with the same pass: 429
// as a browser: 429
// text/html; charset=utf-8
