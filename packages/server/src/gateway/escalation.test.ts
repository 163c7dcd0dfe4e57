// A caller that keeps being refused at a real gateway: blocked for longer each time, visible in metrics and the log, and
// free again when an operator says so.

import { ManualClock } from "sluice/testing";
import { afterEach, expect, it } from "vitest";
import { startGateway, startUpstream, stopAll } from "../../test/proxy-fixture.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";

afterEach(stopAll);

const RULE = {
  id: "login",
  key: "ip",
  limit: { fixedWindow: { limit: 1, windowMs: 60_000, align: "first" } },
  escalate: { after: "3 refusals in 1m", blocks: ["2m", "1h"] },
};

it("blocks the caller, says so in the response, the metrics and the log, and ends with unblock", async () => {
  const lines: string[] = [];
  const telemetry = createTelemetry(
    { logLevel: "info", decisionLogShare: 0, region: "local", topKeysMax: 10 },
    { destination: { write: (line: string) => lines.push(line) } as never },
  );
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const upstream = await startUpstream((_, response) => response.end("hello"));
  const { url, core } = await startGateway(upstream, {
    rules: [RULE],
    core: { clock, telemetry },
  } as never);
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await fetch(url)).status);
  expect(statuses).toEqual([200, 429, 429, 429]);
  const blocked = await fetch(url);
  expect(blocked.headers.get("retry-after")).toBe("120");
  expect(await blocked.json()).toMatchObject({
    code: "RATE_LIMIT_EXCEEDED",
    detail: "Requests of this client are blocked. Try again in 2 minutes.",
    retryAfterMs: 120_000,
  });
  expect(await telemetry.metrics()).toMatch(
    /rate_limiter_escalations_total\{rule="login",level="1"[^}]*\} 1\n/,
  );
  const line = lines.find((each) => each.includes("blocked after many refusals")) ?? "";
  expect(JSON.parse(line)).toMatchObject({ rule: "login", level: 1, blockMs: 120_000 });
  expect(line).not.toContain("127.0.0.1");
  expect(await core.policy.blockedMs("login", "ip:127.0.0.1")).toBe(120_000);
  expect(telemetry.escalatedKeys.list()).toMatchObject([{ rule: "login", level: 1 }]);
  expect(await core.policy.unblock("login", "ip:127.0.0.1")).toBe(true);
  clock.advance(60_000);
  expect((await fetch(url)).status).toBe(200);
});
