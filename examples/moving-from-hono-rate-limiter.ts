// An application of hono-rate-limiter, moved to Sluice: the same options, another import.

import { Hono } from "hono";
import { type RateLimitEnv, rateLimiter } from "sluice/hono";
import { ManualClock } from "sluice/testing";

const app = new Hono<RateLimitEnv>();
app.use(
  rateLimiter({
    windowMs: 60_000,
    limit: 2,
    keyGenerator: (c) => c.req.header("x-user") ?? "anonymous",
    skipFailedRequests: true,
    requestWasSuccessful: (c) => c.res.status < 400,
    statusCode: 429,
    handler: (c, _next, options) => c.json({ error: "slow down" }, options.statusCode as 429),
    clock: new ManualClock(), // Leave it out: here it makes the output the same each time.
  }),
);
app.get("/", (c) => c.text(`hello, ${c.get("rateLimit").remaining} left`));
app.get("/broken", (c) => c.text("broken", 500));

for (const path of ["/", "/broken", "/", "/"]) {
  const response = await app.request(path, { headers: { "x-user": "ann" } });
  console.log(`${response.status} ${await response.text()}`);
}

// Prints:
// 200 hello, 1 left
// 500 broken
// 200 hello, 0 left
// 429 {"error":"slow down"}
