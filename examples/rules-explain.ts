// Why was this request refused? `explain` says which rules match and why, what they count by, the state of each
// counter and what would happen. It charges nothing.

import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const policy = createPolicy({
  clock: new ManualClock(),
  rules: {
    version: 1,
    rules: [
      {
        id: "login",
        match: { path: "/login", methods: "POST" },
        limit: { fixedWindow: { limit: 1, windowMs: "1m" } },
      },
      { id: "user", key: "user", onMissing: "skip", limit: "100/hour" },
      { id: "office", limit: "5/second", exempt: { ips: ["203.0.113.0/24"] } },
    ],
  },
});
const request = { method: "POST", path: "/login", ip: "203.0.113.10" };
await policy.admit(request);

const { allowed, rule, retryAfterMs, rules } = await policy.explain(request);
console.log(`allowed: ${allowed}, by ${rule}, again in ${retryAfterMs} ms`);
for (const { rule: id, key, conditions, notApplied, limits } of rules) {
  const why =
    conditions.map(({ on, wanted }) => `${on} ${wanted}`).join(" and ") || "every request";
  const [state] = limits;
  const outcome = notApplied ?? `${state.remaining} of ${state.limit} left for ${key}`;
  console.log(`${id} (${why}): ${outcome}`);
}

// Prints:
// allowed: false, by login, again in 60000 ms
// login (path /login and method POST): 0 of 1 left for ip:203.0.113.10
// user (every request): missing
// office (every request): exempt-ip
