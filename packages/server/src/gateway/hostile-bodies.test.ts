// Clients choose what is in a body: whatever it is, it fails at most its own request.

import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type FixtureOptions,
  type GatewayFixture,
  startFixture,
} from "../../test/gateway-fixture.js";

const limit = { fixedWindow: { limit: 1_000, windowMs: 3_600_000, align: "first" } };
const RULES = [
  { id: "tokens", key: "ip", cost: { json: "max_tokens", max: 50 }, limit },
  { id: "logins", key: "body:username", limit },
  { id: "secrets", key: "body:password", limit },
];
const nested = "[".repeat(20_000) + "]".repeat(20_000);
const nestedObjects = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
const VALUES = ['{"toString":null,"valueOf":null}', '[{"toString":null}]', nested, nestedObjects];
const NAMES = ["max_tokens", "username", "password"];

let fixture: GatewayFixture | undefined;
const rejections: unknown[] = [];
const note = (error: unknown) => void rejections.push(error);

async function start(options: FixtureOptions = {}): Promise<GatewayFixture> {
  rejections.length = 0;
  process.on("unhandledRejection", note).on("uncaughtException", note);
  fixture = await startFixture({ rules: RULES, ...options });
  return fixture;
}

afterEach(async () => {
  await fixture?.close();
  process.off("unhandledRejection", note).off("uncaughtException", note);
});

function post(url: string, body: string): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  const signal = AbortSignal.timeout(3_000);
  return fetch(`${url}/a`, { method: "POST", headers, body, signal });
}

describe("a body that can't be written as a string", () => {
  it.each(NAMES)("is forwarded and sampled without its value: %s", async (name) => {
    const { url, core } = await start();
    const problem = vi.spyOn(core.telemetry, "problem");
    for (const value of VALUES) {
      expect((await post(url, `{"${name}":${value}}`)).status).toBe(200);
    }
    expect((await post(url, '{"username":"ann"}')).status).toBe(200);
    expect(rejections).toEqual([]);
    expect(problem).not.toHaveBeenCalled();
    const bodies = core.telemetry.samples
      .latest({ showsKeys: true })
      .map(({ facts }) => facts?.body);
    expect(bodies).toEqual([{ username: "ann" }, ...VALUES.map(() => undefined)]);
  });
});

describe("a fault after the decision", () => {
  it.each(["{}", ""])("fails its own request only, with the body %j", async (body) => {
    const { url, core } = await start();
    vi.spyOn(core.telemetry, "decided").mockImplementationOnce(() => {
      throw new Error("a fault");
    });
    expect((await post(url, body)).status).toBe(500);
    expect((await post(url, body)).status).toBe(200);
    expect(rejections).toEqual([]);
  });

  it("refunds what the request held", async () => {
    const oneAtATime = {
      id: "slots",
      key: "ip",
      limit: { concurrency: { limit: 1, permitMs: 60_000 } },
    };
    const { url, core } = await start({ rules: [oneAtATime] });
    vi.spyOn(core.telemetry, "decided").mockImplementationOnce(() => {
      throw new Error("a fault");
    });
    expect((await post(url, "{}")).status).toBe(500);
    expect((await post(url, "{}")).status).toBe(200);
  });
});
