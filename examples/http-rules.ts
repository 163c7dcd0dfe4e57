// Rules in front of a server: failed logins are counted, successful ones are not, and `GET /rate_limit` shows a
// caller what it has left.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimit } from "sluice/node";
import { createPolicy, parseRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const rules = parseRules(`
version: 1
rules:
  - id: everything
    limit: 100/minute
  - id: failed-logins
    match: { path: /login, methods: POST }
    limit: { fixedWindow: { limit: 2, windowMs: 15m } }
    when: { status: [401] }
`);
const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limit = rateLimit(createPolicy({ rules, clock }), { legacyHeaders: false });

const server = createServer((request, response) => {
  if (request.url === "/rate_limit") return limit.status(request, response);
  limit(request, response, () => {
    response.statusCode = request.headers.authorization === "right" ? 200 : 401;
    response.end();
  });
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

for (const authorization of ["wrong", "right", "right", "wrong", "right"]) {
  const response = await fetch(`${url}/login`, { method: "POST", headers: { authorization } });
  console.log(`${authorization}: ${response.status}, ${response.headers.get("ratelimit")}`);
}
const state = (await (await fetch(`${url}/rate_limit`)).json()) as { rules: object[] };
for (const rule of state.rules) console.log(JSON.stringify(rule));
server.close();

// Prints:
// wrong: 401, "everything";r=99;t=60, "failed-logins";r=1;t=900
// right: 200, "everything";r=98;t=60, "failed-logins";r=0;t=900
// right: 200, "everything";r=97;t=60, "failed-logins";r=0;t=900
// wrong: 401, "everything";r=96;t=60, "failed-logins";r=0;t=900
// right: 429, "everything";r=96;t=60, "failed-logins";r=0;t=900
// {"rule":"everything","keyType":"ip","algorithm":"slidingWindowLog","limit":100,"remaining":96,"resetMs":60000,"retryAfterMs":0}
// {"rule":"failed-logins","keyType":"ip","algorithm":"fixedWindow","limit":2,"remaining":0,"resetMs":900000,"retryAfterMs":900000}
