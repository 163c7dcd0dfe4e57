// A client that behaves: it sends eight requests to a server that admits five in a second, and none is refused. The client
// learns from the first responses what is left, waits for the reset, and goes on.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fixedWindow } from "sluice";
import { createFetch } from "sluice/client";
import { rateLimit } from "sluice/node";

const limited = rateLimit({ limit: fixedWindow({ limit: 5, windowMs: 1_000, align: "first" }) });
const server = createServer((request, response) =>
  limited(request, response, () => response.end("hello")),
).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const api = createFetch({
  deadlineMs: 30_000,
  onEvent: (event) => {
    if (event.type === "refused") console.log("refused");
  },
});

const statuses: number[] = [];
for (let i = 0; i < 8; i++) {
  const response = await api(url);
  await response.text();
  statuses.push(response.status);
}
console.log(statuses.join(" "));
console.log(`${api.stats.attempts} attempts, ${api.stats.refusals} refusals`);
server.close();
server.closeAllConnections();
await limited.close();

// Prints:
// 200 200 200 200 200 200 200 200
// 8 attempts, 0 refusals
