// What a core is made of, and that nothing starts without its limits.

import { jwtVerifier } from "sluice/jwt";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closedUrl, eventually } from "../../test/proxy-fixture.js";
import { toTestConfig } from "../../test/test-config.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { createCore, type OwnedCore } from "./create-core.js";

const cores: OwnedCore[] = [];
afterEach(async () => {
  for (const core of cores.splice(0)) await core.close();
});

function coreOf(...args: Parameters<typeof createCore>): OwnedCore {
  const core = createCore(...args);
  cores.push(core);
  return core;
}

const facts = { ip: "203.0.113.10", method: "GET", path: "/" };

describe("a core", () => {
  it("decides by the rules of its configuration", async () => {
    const { policy, blindPolicy } = coreOf(toTestConfig());
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    expect(blindPolicy).toBeUndefined();
  });

  it("fetches keys at a URL when it starts, and logs and counts that it can't", async () => {
    const jwksUrl = `${await closedUrl()}/jwks`;
    const telemetry = silentTelemetry();
    const problems = vi.spyOn(telemetry, "problem");
    const jwt = jwtVerifier({ jwksUrl, algorithms: ["RS256"] });
    coreOf(toTestConfig({ identity: { jwt } }), { telemetry });
    await eventually(() => problems.mock.calls.length > 0, "the log line");
    expect(problems.mock.calls).toEqual([
      [
        "the keys of identity.jwt.jwksUrl can't be fetched",
        undefined,
        { detail: expect.stringMatching(/\/jwks: .*ECONNREFUSED/) },
      ],
    ]);
    expect(await telemetry.metrics()).toContain(
      'rate_limiter_jwks_fetch_failures_total{region="local"} 1',
    );
  });

  it("has a second policy over the same counters where a listener sees no responses", async () => {
    const listen = { host: "127.0.0.1", port: 0 };
    const decision = { listen, tokens: [], forwardAuth: true, bodyBytesMax: 1_024 };
    const { policy, blindPolicy } = coreOf(toTestConfig({ decision }));
    const before = await policy.admit(facts);
    const after = await blindPolicy?.admit(facts);
    expect(after?.remaining).toBe(before.remaining - 1);
  });
});
