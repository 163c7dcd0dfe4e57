// Requests with an id at the gateway: retries count once under durable rules, and each time under all others.

import { memoryStore } from "sluice";
import { rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { startGateway, startUpstream, stopAll } from "../../test/proxy-fixture.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

afterEach(stopAll);

const rules = [
  {
    id: "exports",
    key: "ip",
    limit: { quota: { limit: 10, period: "month" } },
    durable: { alertAt: ["20%"], header: true },
  },
  { id: "burst", key: "ip", limit: "9/minute" },
];

const TOKENS = {
  id: "tokens",
  key: "ip",
  limit: { quota: { limit: 1_000, period: "month" } },
  durable: true,
  cost: { json: "max_tokens", otherwise: 1, max: 500 },
};

async function stand(requestIdHeader: string | undefined, more: readonly object[] = []) {
  const upstream = await startUpstream((_, response) => void response.end("done"));
  const telemetry = silentTelemetry();
  const problems: unknown[] = [];
  telemetry.problem = (what) => void problems.push(what);
  const { url, core } = await startGateway(upstream, {
    rules: [...rules, ...more],
    gateway: { requestIdHeader },
    core: { durableStore: memoryStore(), telemetry },
  });
  const send = (headers: Record<string, string>, path = "/exports") =>
    fetch(`${url}${path}`, { method: "POST", headers });
  const left = async () => {
    const states = await core.policy.state({ method: "GET", path: "/", ip: "127.0.0.1" });
    return states.map(({ remaining }) => remaining);
  };
  return { send, left, url, core, problems };
}

describe("a gateway with requestIdHeader", () => {
  it("charges a retry once under durable rules, and each time under others", async () => {
    const { send, left } = await stand("idempotency-key");
    for (let n = 0; n < 3; n++) {
      expect((await send({ "Idempotency-Key": "a" })).status).toBe(200);
    }
    expect(await left()).toEqual([9, 6]);
  });

  it("distinguishes other ids, other requests, other credentials and requests without an id", async () => {
    const { send, left } = await stand("idempotency-key");
    await send({ "Idempotency-Key": "a" });
    await send({ "Idempotency-Key": "b" });
    await send({ "Idempotency-Key": "a" }, "/other");
    await send({ "Idempotency-Key": "a", Authorization: "Bearer x" });
    await send({});
    await send({});
    expect(await left()).toEqual([4, 3]);
  });

  it.each([
    ["idempotency-key", "Connection: close, Idempotency-Key\r\nIdempotency-Key: a\r\n"],
    ["x-forwarded-request-id", "Connection: close\r\nX-Forwarded-Request-Id: a\r\n"],
  ])("charges each request whose %s never reaches the upstream", async (header, lines) => {
    const { url, left } = await stand(header);
    const head = `POST /exports HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${lines}\r\n`;
    for (let n = 0; n < 3; n++) expect(await rawExchange(url, head)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await left()).toEqual([7, 6]);
  });

  it("answers 409 to an id that comes with another cost, charges nothing, and logs no fault", async () => {
    const { url, core, left, problems } = await stand("idempotency-key", [TOKENS]);
    const send = (tokens: number) =>
      fetch(url, {
        method: "POST",
        headers: { "Idempotency-Key": "a", "content-type": "application/json" },
        body: JSON.stringify({ max_tokens: tokens }),
      });
    expect((await send(100)).status).toBe(200);
    expect(await left()).toEqual([9, 8, 900]);
    const conflict = await send(50);
    expect(conflict.status).toBe(409);
    expect(await conflict.json()).toMatchObject({ code: "SLUICE_REQUEST_ID_REUSED" });
    expect(await left()).toEqual([9, 8, 900]);
    expect(problems).toEqual([]);
    expect(await core.telemetry.metrics()).toContain(
      'rate_limiter_http_refusals_total{listener="gateway",status="409",region="local"} 1',
    );
    expect((await send(100)).status).toBe(200);
  });

  it("ignores the header unless it is configured", async () => {
    const { send, left } = await stand(undefined);
    await send({ "Idempotency-Key": "a" });
    await send({ "Idempotency-Key": "a" });
    expect(await left()).toEqual([8, 7]);
  });
});

describe("a gateway with durable rules", () => {
  it("warns in a header, and shows the quota at GET /rate_limit", async () => {
    const { send, url } = await stand(undefined);
    expect((await send({})).headers.get("sluice-quota-warning")).toBeNull();
    const second = await send({});
    expect(second.headers.get("sluice-quota-warning")).toBe('"exports";used=0.2');
    expect(second.headers.get("ratelimit")).toMatch(/^"exports";r=8;/);
    const shown = (await (await fetch(`${url}/rate_limit`)).json()) as unknown;
    expect(JSON.stringify(shown)).toContain('"exports"');
  });
});
