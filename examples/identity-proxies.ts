// Clients behind a proxy. The server trusts X-Forwarded-For only from its own proxy, and only the part that the
// proxy itself wrote: a client that sends invented addresses is still counted by its real one.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fixedWindow } from "sluice";
import { rateLimit } from "sluice/node";

const limited = rateLimit({
  limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
  identity: { trustedProxies: ["loopback"] },
});
const server = createServer(limited.wrap((_request, response) => response.end("hello")));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

/** Asks as a proxy would for a client: what the client sent, and then the client's real address. */
async function ask(sentByClient: string, client: string): Promise<void> {
  const list = sentByClient === "" ? client : `${sentByClient}, ${client}`;
  const { status } = await fetch(url, { headers: { "x-forwarded-for": list } });
  console.log(`${client} says ${JSON.stringify(sentByClient)}: ${status}`);
}

await ask("", "203.0.113.7");
await ask("198.51.100.1", "203.0.113.7");
await ask("198.51.100.2", "203.0.113.7");
await ask("", "203.0.113.8");
server.close();
server.closeAllConnections();
await limited.close();

// Prints:
// 203.0.113.7 says "": 200
// 203.0.113.7 says "198.51.100.1": 200
// 203.0.113.7 says "198.51.100.2": 429
// 203.0.113.8 says "": 200
