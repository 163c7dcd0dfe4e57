import { once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import { ManualClock } from "sluice/testing";
import { connectTo } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import {
  closedUrl,
  eventually,
  type FixtureOptions,
  onStop,
  startGateway,
  startUpstream,
  stopAll,
} from "../../../test/proxy-fixture.js";
import { ROUTES } from "../../../test/test-config.js";
import type { AdaptiveConfig } from "../../config/upstream-config.js";

afterEach(stopAll);

const fixedAt = (limit: number): AdaptiveConfig => ({ min: limit, max: limit });

/** A gateway before an upstream that holds requests for /slow until they are let go. */
async function setUp(options: FixtureOptions) {
  const held: ServerResponse[] = [];
  const listener: RequestListener = (request, response) => {
    if (request.url?.startsWith("/slow")) held.push(response);
    else response.writeHead(request.url === "/down" ? 503 : 200).end("ok");
  };
  const gateway = await startGateway(await startUpstream(listener), options);
  const ask = (path = "/", init: RequestInit = {}) => fetch(`${gateway.url}${path}`, init);
  /** Sends requests that the upstream holds. */
  const occupy = async (count: number, headers: Record<string, string> = {}) => {
    const before = held.length;
    // Those that are still held at the end break off with the gateway.
    for (let i = 0; i < count; i++) ask("/slow", { headers }).catch(() => {});
    await eventually(() => held.length === before + count);
  };
  const letGo = () => {
    for (const response of held.splice(0)) response.end("late");
  };
  const statusOf = async (path: string, headers: Record<string, string> = {}) => {
    const response = await ask(path, { headers });
    await response.text();
    return response.status;
  };
  return { ...gateway, ask, occupy, letGo, statusOf };
}

describe("an upstream with an adaptive limit", () => {
  it("answers 503 with Retry-After and a problem body beyond the limit, never 429", async () => {
    const { ask, occupy, letGo, statusOf } = await setUp({ upstream: { adaptive: fixedAt(2) } });
    await occupy(1);
    const refused = await ask("/");
    // 80% of two places is one: requests without a priority are normal.
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(refused.headers.get("cache-control")).toBe("no-store");
    expect(await refused.json()).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      status: 503,
      code: "OVERLOADED",
    });
    letGo();
    await eventually(async () => (await statusOf("/")) === 200);
  });

  it("refunds what a shed request was charged", async () => {
    const { ask, occupy, letGo } = await setUp({
      upstream: { adaptive: fixedAt(2) },
      rules: [
        {
          id: "ten",
          key: "ip",
          limit: { fixedWindow: { limit: 10, windowMs: 3_600_000, align: "first" } },
        },
      ],
    });
    await occupy(1);
    for (let i = 0; i < 20; i++) expect((await ask("/")).status).toBe(503);
    letGo();
    await eventually(async () => {
      const response = await ask("/");
      return response.status === 200 && response.headers.get("x-ratelimit-remaining") === "8";
    });
  });

  it("never sheds health checks", async () => {
    const { occupy, statusOf, letGo } = await setUp({ upstream: { adaptive: fixedAt(1) } });
    await occupy(1);
    expect(await statusOf("/healthz")).toBe(200);
    expect(await statusOf("/readyz?verbose")).toBe(200);
    expect(await statusOf("/healthz/deep")).toBe(503);
    letGo();
  });

  it("has the health checks that the configuration names", async () => {
    const { occupy, statusOf, letGo } = await setUp({
      gateway: { healthPaths: ["/ping"] },
      upstream: { adaptive: fixedAt(1) },
    });
    await occupy(1);
    expect(await statusOf("/ping")).toBe(200);
    expect(await statusOf("/healthz")).toBe(503);
    letGo();
  });

  it("gives the place back when the client disconnects", async () => {
    const { ask, statusOf, core } = await setUp({ upstream: { adaptive: fixedAt(1) } });
    const abort = new AbortController();
    const first = ask("/slow", { signal: abort.signal }).catch(() => "gone");
    await eventually(() => core.telemetry.top().upstreams?.[0].inFlight === 1);
    abort.abort();
    expect(await first).toBe("gone");
    await eventually(async () => (await statusOf("/")) === 200);
  });

  it("gives no place to a client that does not send its body", async () => {
    const { url, statusOf } = await setUp({ upstream: { adaptive: fixedAt(1) } });
    const { hostname, port } = new URL(url);
    const client = connect(Number(port), hostname);
    onStop(() => client.destroy());
    const head = "POST /slow HTTP/1.1\r\nHost: app\r\nContent-Length: 100\r\n";
    client.write(`${head}Expect: 100-continue\r\n\r\n`);
    const [answer] = await once(client, "data");
    expect(String(answer)).toContain("100 Continue");
    client.write("half");
    expect(await statusOf("/")).toBe(200);
  });

  it("has a limit for a route alone, before that of the upstream", async () => {
    const { occupy, statusOf, letGo } = await setUp({
      upstream: { adaptive: fixedAt(10) },
      config: {
        routes: [{ ...ROUTES[0], path: "/slow", adaptive: fixedAt(1) }, ROUTES[0]],
      },
    });
    await occupy(1);
    expect(await statusOf("/slow")).toBe(503);
    expect(await statusOf("/")).toBe(200);
    letGo();
  });
});

describe("the priority of a request", () => {
  const UNLIMITED = { key: "ip", limit: "unlimited" };

  it("is what the first rule that it falls under says, whether or not that counts it", async () => {
    const { occupy, statusOf, letGo } = await setUp({
      upstream: { adaptive: fixedAt(10) },
      rules: [
        { id: "reports", match: { path: "/reports" }, ...UNLIMITED, requestPriority: "low" },
        { id: "checkout", match: { path: "/checkout" }, ...UNLIMITED, requestPriority: "critical" },
        { id: "slow", match: { path: "/slow" }, ...UNLIMITED, requestPriority: "high" },
        { id: "late", match: { path: "/checkout" }, ...UNLIMITED, requestPriority: "low" },
      ],
    });
    await occupy(5);
    expect(await statusOf("/reports")).toBe(503);
    expect(await statusOf("/")).toBe(200);
    await occupy(3);
    expect(await statusOf("/")).toBe(503);
    expect(await statusOf("/checkout")).toBe(200);
    letGo();
  });

  it("comes from a header only if the peer is a trusted proxy", async () => {
    const rules = [
      { id: "edge", ...UNLIMITED, requestPriority: { header: "X-Priority", otherwise: "low" } },
    ];
    const upstream = { adaptive: fixedAt(10) };
    const trusted = await setUp({
      upstream,
      rules,
      config: { identity: { trustedProxies: ["127.0.0.1"] } },
    });
    const untrusted = await setUp({ upstream, rules });
    for (const { occupy } of [trusted, untrusted]) {
      await occupy(5, { "x-priority": "critical" });
    }
    const critical = { "x-priority": "critical" };
    expect(await trusted.statusOf("/", critical)).toBe(200);
    expect(await trusted.statusOf("/", { "x-priority": "urgent" })).toBe(503);
    expect(await trusted.statusOf("/")).toBe(503);
    expect(await untrusted.statusOf("/", critical)).toBe(503);
    trusted.letGo();
    untrusted.letGo();
  });

  it("comes from the plan of the caller's tenant", async () => {
    const { occupy, statusOf, letGo, core } = await setUp({
      upstream: { adaptive: fixedAt(10) },
      rules: [
        {
          id: "plans",
          ...UNLIMITED,
          requestPriority: { plan: { gold: "critical" }, otherwise: "low" },
        },
      ],
      config: { identity: { tenant: { header: "X-Tenant" }, trustedProxies: ["127.0.0.1"] } },
    });
    core.policy.describeTenants((tenant) => (tenant === "acme" ? { plan: "gold" } : undefined));
    await occupy(5);
    expect(await statusOf("/", { "x-tenant": "acme" })).toBe(200);
    expect(await statusOf("/", { "x-tenant": "other" })).toBe(503);
    letGo();
  });

  it("follows rules that are replaced", async () => {
    const { occupy, statusOf, letGo, core } = await setUp({ upstream: { adaptive: fixedAt(10) } });
    await occupy(8);
    expect(await statusOf("/")).toBe(503);
    core.policy.replace({
      version: 1,
      rules: [{ id: "all", ...UNLIMITED, requestPriority: "critical" }],
    } as never);
    expect(await statusOf("/")).toBe(200);
    letGo();
  });
});

describe("the circuit breaker of an upstream", () => {
  it("opens after failures in a row, lets one request try, and closes when that succeeds", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    let status = 503;
    const url = await startUpstream((_, response) => {
      response.statusCode = status;
      response.end();
    });
    const breaker = { failuresMax: 3, openMs: 1_000 };
    const { url: gateway, core } = await startGateway(url, {
      upstream: { breaker },
      core: { clock },
    });
    const ask = async (path = "/") => {
      const response = await fetch(`${gateway}${path}`);
      const text = await response.text();
      if (!text.includes("CIRCUIT_OPEN")) return response.status;
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      return `open, ${response.status}`;
    };
    expect([await ask(), await ask(), await ask()]).toEqual([503, 503, 503]);
    expect(await ask()).toBe("open, 503");
    expect(await ask("/healthz")).toBe(503);
    expect(await core.telemetry.metrics()).toContain(
      'rate_limiter_upstream_breaker_open{upstream="app",region="local"} 1',
    );
    clock.advance(1_000);
    expect(await ask()).toBe(503);
    expect(await ask()).toBe("open, 503");
    // A trial that failed doubles the time.
    clock.advance(1_999);
    expect(await ask()).toBe("open, 503");
    clock.advance(1);
    status = 200;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    expect(core.telemetry.top().upstreams).toMatchObject([{ upstream: "app", breaker: "closed" }]);
  });

  it("opens for an upstream that does not answer, and not for a status of the application", async () => {
    const breaker = { failuresMax: 2, openMs: 60_000 };
    const gone = await startGateway(await closedUrl(), { upstream: { breaker } });
    const codeOf = async (url: string) => {
      const text = await (await fetch(url)).text();
      return text.startsWith("{") ? JSON.parse(text).code : text;
    };
    expect(await codeOf(gone.url)).toBe("SLUICE_UPSTREAM_UNAVAILABLE");
    expect(await codeOf(gone.url)).toBe("SLUICE_UPSTREAM_UNAVAILABLE");
    expect(await codeOf(gone.url)).toBe("CIRCUIT_OPEN");
    const broken = await startUpstream((_, response) => {
      response.statusCode = 500;
      response.end("broken");
    });
    const { url } = await startGateway(broken, { upstream: { breaker } });
    for (let i = 0; i < 5; i++) expect(await codeOf(url)).toBe("broken");
  });

  it("is not opened by a client that holds all connections", async () => {
    const { occupy, letGo, statusOf, core } = await setUp({
      upstream: {
        connectionsMax: 2,
        waitingMax: 0,
        breaker: { failuresMax: 2, openMs: 60_000 },
      },
    });
    await occupy(2);
    for (let i = 0; i < 4; i++) expect(await statusOf("/")).toBe(503);
    expect(core.telemetry.top().upstreams).toMatchObject([{ breaker: "closed" }]);
    letGo();
    await eventually(async () => (await statusOf("/")) === 200);
  });

  it("is not opened, nor its backend ejected, by a client whose bodies the backend cuts off", async () => {
    const upstream = await startUpstream((request, response) => {
      if (request.method === "GET") response.end("ok");
      else request.once("data", () => request.socket.destroy());
    });
    const breaker = { failuresMax: 2, openMs: 60_000 };
    const options = { breaker, failuresMax: 2, ejectMs: 60_000 };
    const { url, core } = await startGateway(upstream, { upstream: options });
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    for (let i = 0; i < 4; i++) {
      const client = await connectTo(url);
      client.send(head + "x".repeat(20_000));
      expect(await client.until((text) => text.includes("\r\n\r\n"))).toMatch(/^HTTP\/1.1 502 /);
      client.end();
    }
    expect(core.telemetry.top().upstreams).toMatchObject([{ breaker: "closed" }]);
    expect(await (await fetch(url)).text()).toBe("ok");
    expect(await core.telemetry.metrics()).not.toMatch(/outcome="ejected"[^}]*} [1-9]/);
  });

  it("is not kept open by the request that tests whether it is back, however slow", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { occupy, letGo, statusOf } = await setUp({
      upstream: { breaker: { failuresMax: 2, openMs: 1_000 } },
      core: { clock },
    });
    expect([await statusOf("/down"), await statusOf("/down")]).toEqual([503, 503]);
    clock.advance(1_000);
    await occupy(1);
    expect(await statusOf("/")).toBe(503);
    clock.advance(1_000);
    expect([await statusOf("/"), await statusOf("/")]).toEqual([200, 200]);
    letGo();
  });
});

describe("what operators see", () => {
  it("has the limit, what is in flight and what was shed, by priority and without keys", async () => {
    const { occupy, statusOf, letGo, core } = await setUp({
      upstream: { adaptive: fixedAt(10), breaker: { failuresMax: 5, openMs: 1_000 } },
      rules: [
        {
          id: "low",
          match: { path: "/low" },
          key: "ip",
          limit: "unlimited",
          requestPriority: "low",
        },
      ],
    });
    await occupy(5);
    expect(await statusOf("/low")).toBe(503);
    const metrics = await core.telemetry.metrics();
    expect(metrics).toContain(
      'rate_limiter_adaptive_limit{upstream="app",route="*",region="local"} 10',
    );
    expect(metrics).toContain(
      'rate_limiter_adaptive_in_flight{upstream="app",route="*",region="local"} 5',
    );
    expect(metrics).toContain(
      'rate_limiter_shed_total{upstream="app",route="*",priority="low",reason="overloaded",region="local"} 1',
    );
    expect(metrics).toContain(
      'rate_limiter_upstream_breaker_open{upstream="app",region="local"} 0',
    );
    expect(metrics).toContain(
      'rate_limiter_http_refusals_total{listener="gateway",status="503",region="local"} 1',
    );
    expect(core.telemetry.top().upstreams).toMatchObject([
      { upstream: "app", route: null, limit: 10, inFlight: 5, shed: { low: 1, normal: 0 } },
    ]);
    letGo();
  });

  it("says nothing of upstreams without limits and circuit breakers", async () => {
    const { statusOf, core } = await setUp({});
    expect(await statusOf("/")).toBe(200);
    expect(core.telemetry.top().upstreams).toBeUndefined();
    expect(await core.telemetry.metrics()).not.toContain("rate_limiter_adaptive_limit{");
  });
});
