// Who may ask, and how: tokens, hosts, paths, methods, sizes and media types.

import { request } from "node:http";
import { connectTo, stopAll } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import {
  BrokenStore,
  openUntilStop as open,
  openTestListener,
} from "../../test/decision-listener.js";

afterEach(stopAll);

const own = { limit: "5/minute", key: "user:42" };

describe("401", () => {
  const tokens = ["first-token-0123456789", "second-token-012345678"];

  it("any of the tokens opens /v1", async () => {
    const { post, get } = await open({ decision: { tokens } });
    for (const token of tokens) {
      const authorization = `Bearer ${token}`;
      expect((await post("/v1/check", own, { authorization })).status).toBe(200);
      expect((await get("/v1/limits", { headers: { authorization } })).status).toBe(200);
    }
    expect((await post("/v1/check", own, { authorization: `bearer ${tokens[0]}` })).status).toBe(
      200,
    );
  });

  it.each([
    ["none", {}],
    ["a wrong one", { authorization: "Bearer first-token-0123456780" }],
    ["the beginning of one", { authorization: "Bearer first-token" }],
    ["one with more behind it", { authorization: `Bearer ${tokens[0]}x` }],
    ["an empty one", { authorization: "Bearer " }],
    ["a very long one", { authorization: `Bearer ${"x".repeat(5_000)}` }],
    ["another scheme", { authorization: `Basic ${tokens[0]}` }],
  ])("with %s nothing is decided", async (_, headers: Record<string, string>) => {
    const { post, get } = await open({ decision: { tokens } });
    const { status, headers: said, body } = await post("/v1/check", own, headers);
    expect(status).toBe(401);
    expect(said.get("www-authenticate")).toBe("Bearer");
    expect(body.code).toBe("SLUICE_UNAUTHORIZED");
    expect(JSON.stringify(body)).not.toContain("first-token");
    expect((await get("/v1/limits", { headers })).status).toBe(401);
  });

  it("health and the description need none", async () => {
    const { get } = await open({ decision: { tokens } });
    expect((await get("/livez")).status).toBe(200);
    expect((await get("/openapi.json")).status).toBe(200);
  });

  it("a token that could never be sent is refused when the listener opens", async () => {
    const failed = openTestListener({ decision: { tokens: ["schlüssel"] } });
    await expect(failed).rejects.toThrow("decision.tokens: a token has 1 to 512 visible ASCII");
  });
});

describe("403", () => {
  /** fetch writes the Host itself. */
  function statusFor(
    url: string,
    host: string,
    [method, path]: readonly [string, string] = ["POST", "/v1/check"],
  ): Promise<number | undefined> {
    const headers = { host, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const asked = request(`${url}${path}`, { method, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.once("error", reject);
      asked.end(JSON.stringify(own));
    });
  }

  it("without tokens, a page that a browser took for this machine can't ask", async () => {
    const { listener } = await open();
    expect(await statusFor(listener.url, "rebound.example.com")).toBe(403);
    for (const host of ["localhost:1", "127.0.0.1", "[::1]:8082"]) {
      expect(await statusFor(listener.url, host)).toBe(200);
    }
  });

  it("and neither can it at any other path that is not open to everybody", async () => {
    const { listener, get } = await open();
    const { paths } = (await get("/openapi.json")).body as { paths: Record<string, object> };
    const asked = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
    );
    expect(asked.length).toBeGreaterThan(8);
    for (const each of asked) {
      const status = await statusFor(listener.url, "rebound.example.com", each);
      const isOpen = each[1] === "/livez" || each[1] === "/openapi.json";
      expect([...each, status]).toEqual([...each, isOpen ? 200 : 403]);
    }
  });
});

describe("404 and 405", () => {
  it.each(["/", "/v1", "/v1/check/", "/v2/check", "/v1/toString", "/__proto__"])(
    "%s is not there",
    async (path) => {
      const { post } = await open();
      const { status, body } = await post(path, own);
      expect(status).toBe(404);
      expect(body.detail).toContain(path);
    },
  );

  it("a rule that is not there is 404 too", async () => {
    const { post } = await open();
    const { status, body } = await post("/v1/reset", { rule: "nope", key: "ip:::1" });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: "SLUICE_RULE_UNKNOWN" });
  });

  it.each([
    ["GET", "/v1/check", "POST"],
    ["OPTIONS", "/v1/check", "POST"],
    ["POST", "/v1/limits", "GET, HEAD"],
    ["DELETE", "/openapi.json", "GET, HEAD"],
  ])("%s of %s is answered with what is allowed", async (method, path, allowed) => {
    const { get } = await open();
    const { status, headers } = await get(path, { method });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe(allowed);
  });

  it.each([
    ["commit", { cost: 1 }],
    ["cancel", {}],
    ["release", {}],
  ])("%s of what is not held is 404, and so is the second time", async (verb, rest) => {
    const { post } = await open();
    const unknown = await post(`/v1/${verb}`, { id: "nope", ...rest });
    expect(unknown.status).toBe(404);
    expect(unknown.body.code).toBe("SLUICE_HOLD_UNKNOWN");
    const permit = { limit: { concurrency: { limit: 1, permitMs: 1_000 } }, key: "k" };
    const held =
      verb === "release" ? await post("/v1/acquire", permit) : await post("/v1/reserve", own);
    const { id } = held.body;
    expect((await post(`/v1/${verb}`, { id, ...rest })).status).toBe(200);
    expect((await post(`/v1/${verb}`, { id, ...rest })).status).toBe(404);
  });

  it("a permit can't be committed, and a reservation has ten minutes", async () => {
    const { post, clock } = await open();
    const permit = { limit: { concurrency: { limit: 1, permitMs: 1_000 } }, key: "k" };
    const { id } = (await post("/v1/acquire", permit)).body;
    expect((await post("/v1/commit", { id, cost: 1 })).status).toBe(404);
    expect((await post("/v1/release", { id })).status).toBe(200);
    const kept = (await post("/v1/reserve", own)).body.id;
    clock.advance(599_999);
    const late = (await post("/v1/reserve", own)).body.id;
    expect((await post("/v1/cancel", { id: kept })).status).toBe(200);
    clock.advance(600_000);
    expect((await post("/v1/cancel", { id: late })).status).toBe(404);
  });
});

describe("413 and 415", () => {
  const big = JSON.stringify({ ...own, key: "x".repeat(2_000) });

  it("a body beyond the bound is refused, with or without a stated length", async () => {
    const { post, get } = await open({ decision: { bodyBytesMax: 1_000 } });
    expect((await post("/v1/check", big)).status).toBe(413);
    const piece = new TextEncoder().encode(big);
    const body = new ReadableStream({
      start: (stream) => {
        stream.enqueue(piece);
        stream.close();
      },
    });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    expect((await get("/v1/check", init)).status).toBe(413);
    expect((await post("/v1/check", own)).status).toBe(200);
  });

  it("a body that breaks off is not one that is too large", async () => {
    const { listener } = await open();
    const head = "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    const client = (await connectTo(listener.url)).send(
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
    );
    client.send("2\r\n{}\r\n");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await client.send("zz\r\n").closed()).toMatch(/^HTTP\/1.1 400 /);
  });

  it("a body in many pieces is put together", async () => {
    const { get } = await open();
    const pieces = [...JSON.stringify({ ...own, key: "schlüssel" })].map((c) => Buffer.from(c));
    const body = new ReadableStream({
      pull: (stream) => {
        const piece = pieces.shift();
        if (piece === undefined) stream.close();
        else stream.enqueue(piece);
      },
    });
    const headers = { "content-type": "application/json; charset=utf-8" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    expect(await get("/v1/check", init)).toMatchObject({ status: 200, body: { remaining: 4 } });
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonp"])(
    "%s, which a page can send anywhere, is refused",
    async (type) => {
      const { post } = await open();
      const { status, body } = await post("/v1/check", own, { "content-type": type });
      expect(status).toBe(415);
      expect(body.detail).toContain(type);
    },
  );
});

describe("503", () => {
  const rule = { id: "strict", key: "ip", limit: "5/minute", onStoreFailure: "throw" };
  const facts = { method: "GET", path: "/", ip: "203.0.113.10" };

  it("a store that fails under a rule that says throw is reported, also in a batch", async () => {
    const { post } = await open({ store: new BrokenStore(), rules: [rule] });
    const { status, body } = await post("/v1/check", { facts });
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE", title: "Service Unavailable" });
    const batch = await post("/v1/check", { requests: [{ facts }] });
    expect(batch.body.answers).toMatchObject([{ error: { status: 503 } }]);
  });

  it("internal errors are logged and not shown", async () => {
    const logged: unknown[] = [];
    const { silentTelemetry } = await import("../telemetry/silent-telemetry.js");
    const telemetry = silentTelemetry();
    telemetry.problem = (_kind, error) => logged.push(error);
    const { post, core } = await open({ telemetry });
    (core.blindPolicy as { admit: unknown }).admit = () => {
      throw new Error("secret detail");
    };
    const { status, body } = await post("/v1/check", { facts });
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(logged).toHaveLength(1);
  });
});
