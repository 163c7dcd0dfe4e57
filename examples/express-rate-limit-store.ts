// express-rate-limit with a store of Sluice: its options and responses stay the same, and hits are counted in
// bounded memory, or in Redis with `store: redisStore(client)`.

import type { AddressInfo } from "node:net";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { memoryStore } from "sluice";
import { expressRateLimitStore } from "sluice/express-rate-limit";

const app = express();
const store = expressRateLimitStore({ store: memoryStore({ keysMax: 100_000 }), name: "api" });
app.use(rateLimit({ windowMs: 3_600_000, limit: 2, standardHeaders: "draft-6", store }));
app.get("/", (_request, response) => {
  response.send("hello");
});

const server = app.listen(0, "127.0.0.1", async () => {
  const { port } = server.address() as AddressInfo;
  for (let request = 1; request <= 3; request++) {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.text();
    const left = response.headers.get("ratelimit-remaining");
    console.log(`request ${request}: ${response.status}, ${left} left`);
  }
  server.closeAllConnections();
  server.close();
});

// Prints:
// request 1: 200, 1 left
// request 2: 200, 0 left
// request 3: 429, 0 left
