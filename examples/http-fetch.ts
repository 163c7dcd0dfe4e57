// A handler from Request to Response, as in Next.js, Bun, Deno and workers. It is wrapped once, and the runtime
// calls it as before. Here the runtime is a loop.

import { fixedWindow } from "sluice";
import { cloudflarePeer, rateLimit } from "sluice/fetch";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limit = rateLimit({
  limit: fixedWindow({ limit: 1, windowMs: 60_000 }),
  clock,
  peer: cloudflarePeer, // Bun and Deno show the address themselves: leave it out there.
});

const handler = limit.wrap(() => new Response("hello"));

for (const client of ["203.0.113.1", "203.0.113.1", "203.0.113.2"]) {
  const headers = { "cf-connecting-ip": client };
  const response = await handler(new Request("https://api.example.com/", { headers }));
  console.log(`${client}: ${response.status} ${response.headers.get("ratelimit")}`);
}

// The same by hand, where a handler is not ours to wrap: a middleware of Next.js, for one.
async function middleware(request: Request): Promise<Response> {
  const handled = await limit(request);
  if (handled.response !== undefined) return handled.response;
  return handled.finish(new Response("passed on"));
}

const headers = { "cf-connecting-ip": "203.0.113.3" };
const response = await middleware(new Request("https://api.example.com/", { headers }));
console.log(`203.0.113.3: ${response.status} ${await response.text()}`);

// Prints:
// 203.0.113.1: 200 "default";r=0;t=60
// 203.0.113.1: 429 "default";r=0;t=60
// 203.0.113.2: 200 "default";r=0;t=60
// 203.0.113.3: 200 passed on
