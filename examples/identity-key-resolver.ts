// API keys that stand for a tenant. A look-up in a database says what a key is; known keys are answered from memory, and
// a flood of invented ones reaches the database at a bounded rate.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cachedKeyResolver } from "sluice/api-keys";
import { rateLimit } from "sluice/node";
import { createPolicy, parseRules } from "sluice/rules";

const rules = parseRules(`
version: 1
rules:
  - id: addresses
    key: ip
    limit: 100/minute
  - id: tenants
    match: { path: /api/* }
    key: tenant
    onMissing: refuse
    limit: 1/minute
    tiers: { pro: 3/minute }
`);

// Stands for a table of your database, which keeps hashes of keys and never the keys.
const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");
const table = new Map([
  [hashOf("k-acme"), { id: "1", tenant: "acme", tier: "pro" }],
  [hashOf("k-beta"), { id: "2", tenant: "beta" }],
]);
let queries = 0;
const keyResolver = cachedKeyResolver({
  lookup: async (key) => {
    queries++;
    return table.get(hashOf(key));
  },
  lookupsPerSecond: 50,
});

const policy = createPolicy({ rules });
const limited = rateLimit(policy, { identity: { keyResolver } });
const server = createServer(limited.wrap((_request, response) => response.end("hello")));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/orders`;

async function ask(what: string, headers: Record<string, string>): Promise<void> {
  const { status } = await fetch(url, { headers });
  console.log(`${what}: ${status}, ${queries} queries`);
}

await ask("acme", { "x-api-key": "k-acme" });
await ask("acme", { "x-api-key": "k-acme" });
await ask("beta", { "x-api-key": "k-beta" });
await ask("beta", { "x-api-key": "k-beta" });
await ask("unknown key", { "x-api-key": "k-invented" });
await ask("unknown key", { "x-api-key": "k-invented" });
await ask("no key", {});

// The key was revoked: the next request looks it up again.
table.delete(hashOf("k-acme"));
keyResolver.invalidate("1");
await ask("revoked", { "x-api-key": "k-acme" });
server.close();
server.closeAllConnections();
await policy.close();

// Prints:
// acme: 200, 1 queries
// acme: 200, 1 queries
// beta: 200, 2 queries
// beta: 429, 2 queries
// unknown key: 401, 3 queries
// unknown key: 401, 3 queries
// no key: 403, 3 queries
// revoked: 401, 4 queries
