import { type Span, type SpanOptions, trace } from "@opentelemetry/api";
import { createPolicy } from "sluice/rules";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createTelemetry } from "./create-telemetry.js";
import { loadTraceApi, loadTracing } from "./tracing.js";

const RULES = {
  version: 1,
  rules: [
    {
      id: "login",
      key: "ip",
      limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
    },
  ],
};
const facts = { method: "GET", path: "/login", ip: "203.0.113.10" };

afterEach(() => trace.disable());

/** An SDK of a few lines, registered where the real one registers. */
function registerSdk() {
  const spans: { name: string; options: SpanOptions; endMs?: unknown }[] = [];
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: (name: string, options: SpanOptions = {}) => {
        const span: (typeof spans)[number] = { name, options };
        spans.push(span);
        return { end: (endMs: unknown) => void Object.assign(span, { endMs }) } as unknown as Span;
      },
      startActiveSpan: () => {
        throw new Error("not used");
      },
    }),
  });
  return spans;
}

describe("spans", () => {
  it("show a decision with its true length, and no key, where an SDK is registered", async () => {
    const spans = registerSdk();
    const loaded = vi.fn(loadTraceApi);
    const telemetry = createTelemetry(
      { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 5 },
      { hasProcessMetrics: false, loadTraceApi: loaded },
    );
    await loaded.mock.results[0].value;
    const policy = createPolicy({ rules: RULES });
    const looked = await policy.peek(facts);
    await vi.waitFor(() => {
      telemetry.decided("gateway", looked, facts, 2.5);
      expect(spans.length).toBeGreaterThan(0);
    }, 20_000);
    spans.length = 0;
    for (let i = 0; i < 2; i++) telemetry.decided("envoy", await policy.admit(facts), facts, 2.5);
    expect(spans.map(({ name }) => name)).toEqual(["sluice.decide", "sluice.decide"]);
    const [{ options, endMs }, refused] = spans;
    expect((endMs as number) - (options.startTime as number)).toBeCloseTo(2.5, 2);
    expect(options.attributes).toMatchObject({
      "sluice.listener": "envoy",
      "sluice.allowed": true,
      "sluice.rule": "login",
      "sluice.source": "memory",
    });
    expect(refused.options.attributes).toMatchObject({
      "sluice.outcome": "blocked",
      "sluice.reason": "limit",
    });
    expect(JSON.stringify(spans)).not.toContain("203.0.113");
  });

  it("are of one decision each, however many are under way, and of length 0 where none is reported", async () => {
    const spans = registerSdk();
    const loaded = vi.fn(loadTraceApi);
    const telemetry = createTelemetry(
      { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 5 },
      { hasProcessMetrics: false, loadTraceApi: loaded },
    );
    await loaded.mock.results[0].value;
    const policy = createPolicy({ rules: RULES });
    const [first, second] = [await policy.admit(facts), await policy.admit(facts)];
    await vi.waitFor(() => {
      telemetry.decided("gateway", first, facts);
      expect(spans.length).toBeGreaterThan(0);
    }, 20_000);
    spans.length = 0;
    telemetry.decided("gateway", first, facts);
    telemetry.decided("gateway", second, facts, 7);
    telemetry.tookMs("gateway", 9);
    const written = spans.map(({ options, endMs }) => [
      options.attributes?.["sluice.allowed"],
      Math.round((endMs as number) - (options.startTime as number)),
    ]);
    expect(written).toEqual([
      [true, 0],
      [false, 7],
    ]);
  });

  it("are not made without an SDK, nor without the API", async () => {
    expect(await loadTracing(loadTraceApi, () => 0)).toBeUndefined();
    const missing = () => Promise.reject(new Error("Cannot find package"));
    expect(await loadTracing(missing, () => 0)).toBeUndefined();
  });
});
