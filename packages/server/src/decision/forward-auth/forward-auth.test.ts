// What proxies get when they ask whether a request may pass, and for whom they are trusted to ask.

import type { RuleState } from "sluice/rules";
import { connectTo, rawExchange, stopAll } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  BrokenStore,
  openUntilStop,
  type RequestHandlerOptions,
} from "../../../test/decision-listener.js";

afterEach(stopAll);

const trusting = { identity: { trustedProxies: ["loopback"] } };
const twoAMinute = {
  id: "two",
  match: { path: "/api/*" },
  key: "ip",
  limit: { fixedWindow: { limit: 2, windowMs: 60_000, align: "first" } },
};

const open = (options: RequestHandlerOptions = {}) =>
  openUntilStop({ rules: [twoAMinute], config: trusting, ...options });

const asked = {
  "x-forwarded-method": "GET",
  "x-forwarded-uri": "/api/items?page=2",
  "x-forwarded-host": "api.example.com",
  "x-forwarded-for": "203.0.113.10",
};
const askedByNginx = {
  "x-original-method": "GET",
  "x-original-uri": "/api/items",
  "x-real-ip": "203.0.113.10",
};

describe("a rule with onExceed: challenge", () => {
  it("only refuses, to proxies and to callers of the API, and that is no problem to warn of", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { get, post } = await open({ rules: [{ ...twoAMinute, onExceed: "challenge" }] });
    for (let i = 0; i < 2; i++) await get("/check", { headers: asked });
    const accept = "text/html";
    const refused = await get("/check", { headers: { ...asked, accept } });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(refused.body).not.toHaveProperty("challenge");
    const facts = { method: "GET", path: "/api/items", ip: "203.0.113.10" };
    const { body } = await post("/v1/check", { facts });
    expect(body).toMatchObject({ allowed: false, rule: "two", reason: "limit" });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});

describe("/check", () => {
  it("lets a request pass with 204 and the RateLimit headers", async () => {
    const { get } = await open();
    const { status, headers, body } = await get("/check", { headers: asked });
    expect(status).toBe(204);
    expect(body).toEqual({});
    expect(headers.get("ratelimit")).toBe('"two";r=1;t=60');
    expect(headers.get("ratelimit-policy")).toBe('"two";q=2;w=60');
    expect(headers.get("retry-after")).toBeNull();
  });

  it("refuses with 429, Retry-After, the fields and a problem", async () => {
    const { get } = await open();
    for (let i = 0; i < 2; i++) await get("/check", { headers: asked });
    const { status, headers, body } = await get("/check", { headers: asked });
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toBe("60");
    expect(headers.get("ratelimit")).toBe('"two";r=0;t=60');
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toMatchObject({ code: "RATE_LIMIT_EXCEEDED", "violated-policies": ["two"] });
  });

  it.each(["GET", "HEAD", "POST", "DELETE", "OPTIONS"])(
    "answers when asked by %s",
    async (method) => {
      const { get } = await open();
      expect((await get("/check", { method, headers: asked })).status).toBe(204);
    },
  );

  it("is asked with the client's query behind its path", async () => {
    const { get } = await open();
    expect((await get("/check?page=2&x=/check/nginx", { headers: asked })).status).toBe(204);
  });

  it("counts by the client, matches by its path, and lets pass what no rule is about", async () => {
    const { get } = await open();
    for (let i = 0; i < 2; i++) await get("/check", { headers: asked });
    const other = { ...asked, "x-forwarded-for": "203.0.113.11" };
    expect((await get("/check", { headers: other })).status).toBe(204);
    const free = { ...asked, "x-forwarded-uri": "/free" };
    const passed = await get("/check", { headers: free });
    expect(passed.status).toBe(204);
    expect(passed.headers.get("ratelimit")).toBeNull();
  });

  it("matches the host that the client asked for", async () => {
    const rule = { ...twoAMinute, match: { host: "api.example.com" }, limit: "1/minute" };
    const { get } = await open({ rules: [rule] });
    expect((await get("/check", { headers: asked })).status).toBe(204);
    expect((await get("/check", { headers: asked })).status).toBe(429);
    const other = { ...asked, "x-forwarded-host": "www.example.com" };
    expect((await get("/check", { headers: other })).status).toBe(204);
  });

  it("takes the nearest address that is not a proxy's", async () => {
    const { get } = await open();
    for (const invented of ["198.51.100.1", "198.51.100.2"]) {
      const list = `${invented}, 203.0.113.10`;
      await get("/check", { headers: { ...asked, "x-forwarded-for": list } });
    }
    expect((await get("/check", { headers: asked })).status).toBe(429);
  });

  it("does not read the fields of nginx, which a client may have sent", async () => {
    const { get } = await open();
    const both = { ...asked, "x-original-uri": "/free", "x-real-ip": "198.51.100.1" };
    for (let i = 0; i < 2; i++) await get("/check", { headers: both });
    expect((await get("/check", { headers: both })).status).toBe(429);
  });
});

describe("/check/nginx", () => {
  it("refuses with 403 and says the real status beside it", async () => {
    const { get } = await open();
    for (let i = 0; i < 2; i++) {
      expect((await get("/check/nginx", { headers: askedByNginx })).status).toBe(204);
    }
    const { status, headers } = await get("/check/nginx", { headers: askedByNginx });
    expect(status).toBe(403);
    expect(headers.get("x-sluice-status")).toBe("429");
    expect(headers.get("retry-after")).toBe("60");
    expect(headers.get("ratelimit")).toBe('"two";r=0;t=60');
  });

  it("does not read X-Forwarded-* fields, which nginx passes on as its client sent them", async () => {
    const { get } = await open({
      config: { identity: { ...trusting.identity, forwardedHost: true } },
    });
    const forged = {
      ...askedByNginx,
      "x-forwarded-uri": "/free",
      "x-forwarded-method": "OPTIONS",
      "x-forwarded-for": "198.51.100.1",
    };
    for (let i = 0; i < 2; i++) await get("/check/nginx", { headers: forged });
    expect((await get("/check/nginx", { headers: forged })).status).toBe(403);
  });

  it("matches the host that nginx says, and none that its client invented", async () => {
    const rule = { ...twoAMinute, match: { host: "api.example.com" }, limit: "1/minute" };
    const identity = { ...trusting.identity, forwardedHost: true };
    const { get } = await open({ rules: [rule], config: { identity } });
    const headers = {
      ...askedByNginx,
      "x-original-host": "api.example.com",
      "x-forwarded-host": "www.example.com",
    };
    expect((await get("/check/nginx", { headers })).status).toBe(204);
    expect((await get("/check/nginx", { headers })).status).toBe(403);
  });
});

describe("a proxy that does not say enough", () => {
  it.each([
    ["/check", asked, "x-forwarded-uri", "X-Forwarded-Uri is missing"],
    ["/check", asked, "x-forwarded-method", "X-Forwarded-Method is missing"],
    ["/check", asked, "x-forwarded-for", "X-Forwarded-For is missing"],
    ["/check/nginx", askedByNginx, "x-original-uri", "X-Original-URI is missing"],
    ["/check/nginx", askedByNginx, "x-real-ip", "X-Real-IP is missing"],
  ])("at %s is answered with 400 (%o, without %s)", async (path, fields, left, detail) => {
    const { get } = await open();
    const { [left as keyof typeof fields]: _, ...headers } = fields;
    const { status, headers: answered, body } = await get(path, { headers });
    // nginx takes anything but 403 for a failure of Sluice.
    expect(status).toBe(path === "/check" ? 400 : 403);
    expect(answered.get("x-sluice-status")).toBe("400");
    expect(body.detail).toContain(detail);
  });

  it.each([
    ["x-forwarded-uri", "/free, /api/items"],
    ["x-forwarded-uri", "api/items"],
    ["x-forwarded-method", "GET, POST"],
    ["x-forwarded-for", "203.0.113.10, unknown"],
  ])("or says two things in %s is answered with 400", async (name, value) => {
    const { get } = await open();
    const { status, body } = await get("/check", { headers: { ...asked, [name]: value } });
    expect(status).toBe(400);
    expect(body.detail).toContain(value);
  });
});

describe("a malformed request", () => {
  it.each([
    ["a control character", "X-A: a\x01b\r\n", 400],
    ["a name that some servers read as Content-Length", "Content_Length: 5\r\n", 400],
    ["too many fields", "a:1\r\n".repeat(1_001), 431],
    ["too long a head", `X-A: ${"a".repeat(70_000)}\r\n`, 431],
  ])("for %s is refused in a way that proxies pass on", async (_, fields, status) => {
    const { listener } = await open();
    const send = (path: string) =>
      rawExchange(listener.url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`);
    const header = new RegExp(`\r\nX-Sluice-Status: ${status}\r\n`);
    const [check, nginx] = [await send("/check?page=2"), await send("/check/nginx")];
    expect(check).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(nginx).toMatch(/^HTTP\/1.1 403 /);
    expect([check, nginx].map((text) => header.test(text))).toEqual([true, true]);
    expect(await send("/v1/check")).not.toMatch(header);
  });

  it("is answered as one, however its bytes arrive", async () => {
    const { listener } = await open();
    const client = await connectTo(listener.url);
    for (const piece of [
      "GET /che",
      "ck/nginx HTTP/1.1\r",
      "\nHost: localhost\r\nX-A: ",
      "a\x01\r\n\r\n",
    ]) {
      client.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await client.closed()).toMatch(/^HTTP\/1.1 403 /);
  });
});

describe("on this machine, a web page whose name resolves here", () => {
  it.each(["/check", "/check/nginx"])("can't ask at %s", async (path) => {
    const { listener, core } = await open();
    const ask = async (host: string) => {
      const fields = Object.entries({ ...asked, ...askedByNginx }).map((pair) => pair.join(": "));
      const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...fields, "Connection: close"];
      return (await rawExchange(listener.url, `${lines.join("\r\n")}\r\n\r\n`)).slice(9, 12);
    };
    for (const host of [
      "rebound.example.com",
      "rebound.example.com:8082",
      "127.0.0.1.example.com",
    ]) {
      expect(await ask(host)).toBe("403");
    }
    const [{ remaining }] = (await core.policy.state(toFacts())) as readonly RuleState[];
    expect(remaining).toBe(2);
    // An address, as Traefik, Caddy and HAProxy send it; the name of nginx's upstream.
    expect([await ask("127.0.0.1:8082"), await ask("sluice")]).toEqual(["204", "204"]);
  });
});

function toFacts() {
  return { method: "GET", path: "/api/items", ip: "203.0.113.10" };
}

describe("a peer that is not trusted", () => {
  it.each(["/check", "/check/nginx"])(
    "gets 403 with the reason at %s, and nothing is counted",
    async (path) => {
      const { get } = await open({ config: {} });
      const { status, body } = await get(path, { headers: { ...asked, ...askedByNginx } });
      expect(status).toBe(403);
      expect(body.detail).toContain('"127.0.0.1" asks, which is not among identity.trustedProxies');
    },
  );
});

it("is not there if it is switched off", async () => {
  const { get } = await open({ decision: { forwardAuth: false } });
  expect((await get("/check", { headers: asked })).status).toBe(404);
});

it("answers 503 if the store does not, under a rule that says throw", async () => {
  const store = new BrokenStore();
  const { get } = await open({ store, rules: [{ ...twoAMinute, onStoreFailure: "throw" }] });
  const { status, body } = await get("/check", { headers: asked });
  expect(status).toBe(503);
  expect(body.code).toBe("SLUICE_STORE_UNAVAILABLE");
});
