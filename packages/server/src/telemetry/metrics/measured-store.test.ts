import { type Charge, ForwardingStore, fixedWindow, memoryStore, type Outcome } from "sluice";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";

const counter = { scope: "login", part: 0, limit: fixedWindow({ limit: 3, windowMs: 60_000 }) };
const charge: Charge = { counter, key: "ip:203.0.113.10", cost: 1, nowMs: 0 };

/** Memory that answers as a server would: later, or not at all. */
class FarStore extends ForwardingStore {
  isBroken = false;
  constructor() {
    super(memoryStore());
  }
  override get isRemote(): boolean {
    return true;
  }
  override async decide(charges: readonly Charge[]): Promise<Outcome> {
    if (this.isBroken) throw new Error("the connection is cut");
    return super.decide(charges);
  }
}

function setUp(lines: object[] = []) {
  let nowMs = 0;
  const readMs = () => {
    nowMs += 3;
    return nowMs;
  };
  const telemetry = createTelemetry(
    { logLevel: "info", decisionLogShare: 0, region: "local", topKeysMax: 5 },
    {
      hasProcessMetrics: false,
      readMs,
      destination: { write: (line) => void lines.push(JSON.parse(line) as object) },
    },
  );
  return telemetry;
}

describe("a measured store", () => {
  it("answers as the one behind it, its calls timed", async () => {
    const telemetry = setUp();
    const store = telemetry.measured(new FarStore());
    expect(store.isRemote).toBe(true);
    expect(await store.decide([charge])).toMatchObject({ allowed: true });
    expect(await store.decide([charge])).toMatchObject({ verdicts: [{ remaining: 1 }] });
    const text = await telemetry.metrics();
    const name = "rate_limiter_redis_latency_seconds";
    const labels = 'operation="decide",region="local"';
    expect(text).toContain(`${name}_count{${labels}} 2`);
    expect(text).toContain(`${name}_bucket{le="0.0025",${labels}} 0`);
    expect(text).toContain(`${name}_bucket{le="0.005",${labels}} 2`);
    expect(text).toContain(`rate_limiter_redis_errors_total{${labels}} 0`);
  });

  it("counts an error, has it logged and hands it on as it is", async () => {
    const lines: object[] = [];
    const telemetry = setUp(lines);
    const far = new FarStore();
    far.isBroken = true;
    const store = telemetry.measured(far);
    await expect(store.decide([charge])).rejects.toThrow("the connection is cut");
    expect(lines).toMatchObject([
      {
        msg: "store call failed",
        operation: "decide",
        err: { message: "the connection is cut" },
      },
    ]);
    const text = await telemetry.metrics();
    expect(text).toContain('rate_limiter_redis_errors_total{operation="decide",region="local"} 1');
    expect(text).toContain(
      'rate_limiter_redis_latency_seconds_count{operation="decide",region="local"} 1',
    );
  });

  it("is the store itself where that answers in this process", () => {
    const store = memoryStore();
    expect(setUp().measured(store)).toBe(store);
  });
});
