// Express: two requests an hour for each caller, with the options of express-rate-limit, and a token bucket on one
// route. The program sends itself requests, then ends.

import type { AddressInfo } from "node:net";
import express from "express";
import { tokenBucket } from "sluice";
import { rateLimit } from "sluice/express";

const app = express();
app.use(rateLimit({ windowMs: 3_600_000, limit: 2, message: { error: "later" } }));
app.get("/", (_request, response) => {
  response.send("hello");
});
const search = rateLimit({
  name: "search",
  limit: tokenBucket({ capacity: 1, refillPerSecond: 0.1 }),
});
app.get("/search", search, (_request, response) => {
  response.send("found");
});

const server = app.listen(0, "127.0.0.1", async () => {
  const { port } = server.address() as AddressInfo;
  for (const path of ["/", "/search", "/"]) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    const left = response.headers.get("x-ratelimit-remaining");
    console.log(`${path}: ${response.status}, ${left} left, ${await response.text()}`);
  }
  server.closeAllConnections();
  server.close();
});

// Prints:
// /: 200, 1 left, hello
// /search: 200, 0 left, found
// /: 429, 0 left, {"error":"later"}
