// Rules in one file, decided together. A login counts for its address and for all callers; if one of the two rules
// refuses, neither is charged. The decision names the rule that binds.

import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const rules = `
version: 1
rules:
  - id: everybody
    key: global
    limit: { tokenBucket: { capacity: 100, refillPerSecond: 50 } }
  - id: logins
    match: { path: /login, methods: POST }
    limit: { fixedWindow: { limit: 3, windowMs: 1m } }
  - id: api
    match: { path: /api/* }
    key: user
    limit: { fixedWindow: { limit: 2, windowMs: 1m } }
    tiers: { pro: { fixedWindow: { limit: 1000, windowMs: 1m } } }
`;
const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const policy = createPolicy({ rules, clock });

async function ask(request: { method: string; path: string; user?: string; tier?: string }) {
  const decision = await policy.admit({ ip: "203.0.113.10", ...request });
  const { allowed, rule, remaining, retryAfterMs } = decision;
  const what = allowed ? `passes, ${remaining} left` : `refused for ${retryAfterMs} ms`;
  console.log(`${request.method} ${request.path}: ${what} under ${rule}`);
}

for (let n = 0; n < 4; n++) await ask({ method: "POST", path: "/login" });
// No other way of writing the path is a way around its rule.
await ask({ method: "POST", path: "//Login/./%6cogin/../" });
await ask({ method: "GET", path: "/api/users/7", user: "42" });
await ask({ method: "GET", path: "/api/users/7", user: "43", tier: "pro" });

// Prints:
// POST /login: passes, 2 left under logins
// POST /login: passes, 1 left under logins
// POST /login: passes, 0 left under logins
// POST /login: refused for 60000 ms under logins
// POST //Login/./%6cogin/../: refused for 60000 ms under logins
// GET /api/users/7: passes, 1 left under api
// GET /api/users/7: passes, 95 left under everybody
