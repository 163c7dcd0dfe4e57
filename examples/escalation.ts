// A caller that ignores Retry-After is blocked, for longer each time; an operator unblocks it.

import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(Date.UTC(2026, 0, 1));
const policy = createPolicy({
  rules: `
version: 1
rules:
  - id: search
    key: ip
    limit: 2/minute
    escalate: { after: 3 refusals in 1m, blocks: [1m, 10m], forget: 1d }
`,
  clock,
  onEvent: (event) => {
    if (event.kind === "escalated") {
      console.log(`${event.key}: level ${event.level}, blocked for ${event.blockMs / 1_000} s`);
    }
  },
});
const request = { method: "GET", path: "/search", ip: "203.0.113.10" };

for (let round = 0; round < 2; round++) {
  for (let i = 0; i < 10; i++) await policy.admit(request);
  clock.advance(60_000);
}
const { allowed, reason, blockedMs } = await policy.peek(request);
console.log({ allowed, reason, blockedMs });

await policy.unblock("search", "ip:203.0.113.10");
console.log((await policy.peek(request)).allowed);
await policy.close();

// Prints:
// ip:203.0.113.10: level 1, blocked for 60 s
// ip:203.0.113.10: level 2, blocked for 600 s
// { allowed: false, reason: 'blocked', blockedMs: 540000 }
// true
