// A `node:http` server with one limit: the response of an allowed request, and that of a refused one.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fixedWindow } from "sluice";
import { rateLimit } from "sluice/node";
import { ManualClock } from "sluice/testing";

const limit = rateLimit({
  limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
  clock: new ManualClock(), // Leave it out: here it makes the output the same each time.
});

const server = createServer(
  limit.wrap((request, response) => {
    response.end(`${request.rateLimit.remaining} left`);
  }),
);
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

for (let i = 0; i < 3; i++) {
  const response = await fetch(url);
  console.log(response.status, response.headers.get("ratelimit"));
  console.log(await response.text());
}
server.close();

// Prints:
// 200 "default";r=1;t=60
// 1 left
// 200 "default";r=0;t=60
// 0 left
// 429 "default";r=0;t=60
// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,"code":"RATE_LIMIT_EXCEEDED","detail":"The rate limit is exceeded. Try again in 1 minute.","violated-policies":["default"],"retryAfterMs":60000}
