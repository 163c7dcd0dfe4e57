// What operators change while requests come in: other limits for some callers, callers that are refused, and a switch
// that denies a rule. Nothing here edits the rules themselves.

import { callerBlocks, createPolicy, parseRules, withExceptions } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const rules = parseRules({
  version: 1,
  rules: [
    { id: "api", key: "tenant", limit: { tokenBucket: { capacity: 10, refillPerSecond: 1 } } },
    { id: "export", match: { path: "/export" }, key: "ip", limit: "5/minute" },
  ],
});
const policy = createPolicy({ rules, clock: new ManualClock(0) });
const request = { method: "GET", path: "/", ip: "203.0.113.10", tenant: "acme", plan: "gold" };
const show = async (facts: object = {}) => {
  const { allowed, reason, rule, remaining, limit } = await policy.admit({ ...request, ...facts });
  console.log(allowed ? `${remaining} of ${limit} left` : `refused: ${reason}, rule ${rule}`);
};
await show();

// The plan has a larger limit, and one tenant an even larger one for a minute. What was used carries over.
const large = (capacity: number) => ({ tokenBucket: { capacity, refillPerSecond: 1 } });
policy.replace(
  withExceptions(rules, [
    { ruleId: "api", by: "plan", value: "gold", limits: large(50) },
    { ruleId: "api", by: "tenant", value: "acme", limits: large(100), endsAtMs: 60_000 },
  ]),
);
await show();
await show({ tenant: "beta" });

policy.switch("export", "deny");
await show({ path: "/export" });
policy.switch("export", "on");

policy.blockCallers(
  callerBlocks([{ subject: ["ip:203.0.113.0/24", "user:42"], reason: "credential stuffing" }]),
);
await show();
const { block } = await policy.explain(request);
console.log(`${block?.subject} is blocked: ${block?.reason}`);

// Prints:
// 9 of 10 left
// 98 of 100 left
// 49 of 50 left
// refused: denied, rule export
// refused: blocked, rule undefined
// ip:203.0.113.0/24 is blocked: credential stuffing
