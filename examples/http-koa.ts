// Koa: one line before the routes. The decision is in `ctx.state.rateLimit`.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { fixedWindow } from "sluice";
import { type RateLimitState, rateLimit } from "sluice/koa";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limit = rateLimit({ limit: fixedWindow({ limit: 2, windowMs: 60_000 }), clock });

const app = new Koa<RateLimitState>();
app.use((ctx, next) => (ctx.path === "/rate_limit" ? limit.status(ctx) : next()));
app.use(limit);
app.use((ctx) => {
  ctx.body = `hello, ${ctx.state.rateLimit.remaining} left`;
});

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
for (let i = 0; i < 3; i++) {
  const response = await fetch(url);
  const { headers } = response;
  const text = response.ok ? await response.text() : `again in ${headers.get("retry-after")} s`;
  console.log(`${response.status} ${headers.get("ratelimit")}: ${text}`);
}
server.close();
server.closeAllConnections();

// Prints:
// 200 "default";r=1;t=60: hello, 1 left
// 200 "default";r=0;t=60: hello, 0 left
// 429 "default";r=0;t=60: again in 60 s
