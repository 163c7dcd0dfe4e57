// A cost that is known only afterwards: 1,000 tokens of a language model are reserved before the answer, and settled
// at the real cost after it. A permit is held until then.

import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const policy = createPolicy({
  clock: new ManualClock(),
  rules: `
version: 1
rules:
  - id: tokens
    key: user
    limit: { quota: { limit: 100000, period: day } }
    cost: 1000
    settle: code
  - id: at-once
    key: user
    limit: { concurrency: { limit: 2, permitMs: 10m } }
`,
});
const request = { method: "POST", path: "/chat", user: "42" };
const left = async () =>
  (await policy.peek(request)).results.map(({ verdict }) => verdict.remaining).join(" tokens, ");

const decision = await policy.admit(request);
console.log(`running: ${await left()} more in parallel`);
// Whatever happens to the request, it is finished once.
await decision.finish({ cost: 2_370 });
console.log(`settled: ${await left()} more in parallel`);

// Prints:
// running: 99000 tokens, 1 more in parallel
// settled: 97630 tokens, 2 more in parallel
