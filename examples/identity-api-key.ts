// API keys and tiers. A key is hashed when it is read, from a header or from the query, and never stored. A function
// in code knows which plan a customer has.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimit } from "sluice/node";
import { createPolicy, parseRules } from "sluice/rules";

const rules = parseRules(`
version: 1
rules:
  - id: api
    key: apiKey
    onMissing: refuse
    limit: 1/minute
    tiers: { pro: 3/minute }
`);
const plans = new Map([["k-pro", "pro"]]); // Stands for a lookup in a database.
const policy = createPolicy({ rules });
const limited = rateLimit(policy, {
  identity: {
    apiKey: { header: "x-api-key", query: "api_key" },
    keySecret: "the same on all servers",
    tier: async (request) => plans.get(String(request.headers["x-api-key"])),
  },
});
const server = createServer(limited.wrap((_request, response) => response.end("hello")));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

async function ask(what: string, query: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(url + query, { headers });
  console.log(`${what}: ${response.status}, ${response.headers.get("ratelimit")?.split(";t")[0]}`);
}

await ask("free, header", "", { "x-api-key": "k-free" });
await ask("free, query", "?api_key=k-free", {});
await ask("pro, header", "", { "x-api-key": "k-pro" });
await ask("two keys", "?api_key=k-other", { "x-api-key": "k-pro" });
await ask("no key", "", {});
server.close();
server.closeAllConnections();
await policy.close();

// Prints:
// free, header: 200, "api";r=0
// free, query: 429, "api";r=0
// pro, header: 200, "api";r=2
// two keys: 403, undefined
// no key: 403, undefined
