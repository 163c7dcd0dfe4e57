import { createPolicy } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { quietTelemetry } from "./quiet.js";

const RULES = {
  version: 1,
  rules: [
    {
      id: "login",
      match: { path: "/login" },
      key: "ip",
      limit: { fixedWindow: { limit: 2, windowMs: 3_600_000 } },
    },
  ],
};

describe("metrics of decisions", () => {
  it("count what a rule admitted and what it refused, with the pattern and the type of key", async () => {
    const telemetry = quietTelemetry();
    const policy = createPolicy({ rules: RULES });
    const facts = { method: "GET", path: "/login", ip: "203.0.113.10" };
    for (let i = 0; i < 5; i++) {
      telemetry.decided("gateway", await policy.admit(facts), facts);
      telemetry.tookMs("gateway", 0.02);
    }
    telemetry.refused("gateway", 429);
    const text = await telemetry.metrics();
    const labels = 'rule="login",endpoint="/login",key_type="ip"';
    expect(text).toContain(
      `rate_limiter_allowed_total{${labels},outcome="allowed",region="local"} 2`,
    );
    expect(text).toContain(
      `rate_limiter_blocked_total{${labels},outcome="limit",region="local"} 3`,
    );
    expect(text).toContain('http_429_total{door="gateway",region="local"} 1');
    expect(text).toContain(
      'rate_limiter_decision_seconds_bucket{le="0.00005",door="gateway",region="local"} 5',
    );
  });
});
