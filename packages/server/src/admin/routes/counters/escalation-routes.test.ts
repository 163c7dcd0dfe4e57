import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, it } from "vitest";
import { toTestConfig } from "../../../../test/test-config.js";
import type { Core } from "../../../core/core.js";
import { silentTelemetry } from "../../../telemetry/silent-telemetry.js";
import { openAdmin } from "../../admin.js";

const RULE = { key: "ip", limit: "1/minute" };
const RULES = {
  version: 1,
  rules: [
    { id: "login", ...RULE, escalate: { after: "2 refusals in 1m", blocks: ["10m", "1h"] } },
    { id: "search", ...RULE, match: { path: "/search" } },
  ],
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function setUp() {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const store = memoryStore({ keysMax: 1_000 });
  const telemetry = silentTelemetry();
  const policy = createPolicy({
    ...{ rules: RULES, store, clock },
    onEvent: (event) => telemetry.policyEvent(event),
  });
  const admin = { ...toTestConfig().admin, listen: { host: "127.0.0.1", port: 0 }, token: "op" };
  const config = toTestConfig({ admin } as never);
  const core: Core = { config, clock, store, policy, blindPolicy: undefined, telemetry };
  const listener = await openAdmin(core, {
    isReady: () => ({ ready: true, reasons: [] }),
    reload: async () => {},
    metrics: () => telemetry.metrics(),
  });
  closing.push(() => listener.close());
  const list = async (query = "") => {
    const headers = { authorization: "Bearer op" };
    const response = await fetch(`${listener.url}/v1/escalations${query}`, { headers });
    return (await response.json()) as { items: object[]; code?: string };
  };
  /** A request within the limit, and two refusals. */
  const insist = (ip: string) => {
    for (let i = 0; i < 3; i++) policy.admit({ method: "GET", path: "/", ip });
  };
  return { clock, policy, list, insist };
}

describe("GET /v1/escalations", () => {
  it("lists keys that are blocked, the latest first, hashed unless operators ask for them", async () => {
    const { clock, list, insist } = await setUp();
    expect(await list()).toEqual({ items: [] });
    insist("203.0.113.1");
    clock.advance(60_000);
    insist("203.0.113.2");
    const one = { rule: "login", level: 1 };
    expect(await list("?keys=clear")).toEqual({
      items: [
        { ...one, key: "ip:203.0.113.2", blockedMs: 600_000 },
        { ...one, key: "ip:203.0.113.1", blockedMs: 540_000 },
      ],
    });
    const hash = expect.stringMatching(/^hmac:[0-9a-f]{16}$/);
    expect((await list("?limit=1")).items).toEqual([{ ...one, key: hash, blockedMs: 600_000 }]);
    expect((await list("?rule=search")).items).toEqual([]);
    expect((await list("?limit=1001")).code).toBe("SLUICE_REQUEST_INVALID");
  });

  it("asks the store: what was ended is gone, what was made longer is longer", async () => {
    const { policy, list, insist } = await setUp();
    for (const ip of ["203.0.113.1", "203.0.113.2"]) insist(ip);
    policy.unblock("login", "ip:203.0.113.1");
    policy.block("login", "ip:203.0.113.2", Number.POSITIVE_INFINITY);
    expect((await list()).items).toMatchObject([{ rule: "login", blockedMs: null }]);
    const byUser = { ...RULES.rules[0], key: "user", onMissing: "refuse" };
    policy.replace({ ...RULES, rules: [byUser, RULES.rules[1]] });
    expect((await list()).items).toEqual([]);
    policy.replace({ ...RULES, rules: [RULES.rules[1]] });
    expect((await list()).items).toEqual([]);
  });
});
