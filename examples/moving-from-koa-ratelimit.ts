// An application of koa-ratelimit, moved to Sluice: the same options, without `driver` and `db`.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { rateLimit } from "sluice/koa";
import { ManualClock } from "sluice/testing";

const app = new Koa();
app.use(
  rateLimit({
    duration: 60_000,
    max: 2,
    id: (ctx) => ctx.get("x-user"),
    blacklist: (ctx) => ctx.get("x-user") === "mallory",
    errorMessage: "slow down",
    headers: { remaining: "Rate-Limit-Remaining" },
    clock: new ManualClock(), // Leave it out: here it makes the output the same each time.
  }),
);
app.use((ctx) => {
  ctx.body = "hello";
});

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
for (const user of ["ann", "ann", "ann", "mallory"]) {
  const response = await fetch(url, { headers: { "x-user": user } });
  const left = response.headers.get("rate-limit-remaining") ?? "-";
  console.log(`${user}: ${response.status} ${await response.text()}, ${left} left`);
}
server.close();
server.closeAllConnections();

// Prints:
// ann: 200 hello, 1 left
// ann: 200 hello, 0 left
// ann: 429 slow down, 0 left
// mallory: 403 Forbidden, - left
