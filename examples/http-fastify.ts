// Fastify: two requests an hour for each caller, one route with its own limit, and one without a limit.
// The program sends itself requests, then ends.

import { fastify } from "fastify";
import { rateLimit } from "sluice/fastify";

const app = fastify({ forceCloseConnections: true });
app.register(rateLimit, { max: 2, timeWindow: "1 hour" });
app.get("/", async () => "hello");
app.get("/login", { config: { rateLimit: { max: 1, timeWindow: "1 day" } } }, async () => "in");
app.get("/health", { config: { rateLimit: false } }, async () => "well");

const url = await app.listen({ port: 0, host: "127.0.0.1" });
for (const path of ["/", "/", "/", "/login", "/login", "/health"]) {
  const response = await fetch(url + path);
  await response.text();
  const left = response.headers.get("x-ratelimit-remaining") ?? "no";
  console.log(`${path}: ${response.status}, ${left} left`);
}
await app.close();

// Prints:
// /: 200, 1 left
// /: 200, 0 left
// /: 429, 0 left
// /login: 200, 0 left
// /login: 429, 0 left
// /health: 200, no left
