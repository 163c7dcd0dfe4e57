// Hono: one line before the routes, here on Node.js. On Bun, Deno and workers it is the same line. Where only the
// platform knows the client's address, the option `peer` names the header that has it.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { fixedWindow } from "sluice";
import { rateLimit } from "sluice/hono";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limit = rateLimit({ limit: fixedWindow({ limit: 2, windowMs: 60_000 }), clock });

const app = new Hono()
  .get("/rate_limit", limit.status)
  .use(limit)
  .get("/", (c) => c.text(`hello, ${c.get("rateLimit").remaining} left`));

const server = createAdaptorServer({ fetch: app.fetch });
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
for (let i = 0; i < 3; i++) {
  const response = await fetch(url);
  const { headers } = response;
  const text = response.ok ? await response.text() : `again in ${headers.get("retry-after")} s`;
  console.log(`${response.status} ${headers.get("ratelimit")}: ${text}`);
}
server.close();

// Prints:
// 200 "default";r=1;t=60: hello, 1 left
// 200 "default";r=0;t=60: hello, 0 left
// 429 "default";r=0;t=60: again in 60 s
