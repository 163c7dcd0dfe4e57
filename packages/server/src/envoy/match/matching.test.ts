// The cases of matching that users of envoyproxy/ratelimit rely on, one file and one request each.

import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { descriptor, limiterOf, START_MS } from "../../../test/envoy-harness.js";
import type { EnvoyLimiter } from "../limiter/limiter.js";
import type { Descriptor, RateLimitResponse } from "../messages.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 10, name: any-user }
  - key: user
    value: alice
    rate_limit: { unit: minute, requests_per_unit: 20, name: alice }
  - key: user
    value: al*
    rate_limit: { unit: minute, requests_per_unit: 30, name: al-wildcard }
  - key: user
    value: a*
    rate_limit: { unit: minute, requests_per_unit: 40, name: a-wildcard }
  - key: tenant
    value: gold
    descriptors:
      - key: path
        rate_limit: { unit: hour, requests_per_unit: 50, name: gold-path }
      - key: path
        value: /search*
        rate_limit: { unit: hour, requests_per_unit: 60, name: gold-search }
  - key: tenant
    rate_limit: { unit: hour, requests_per_unit: 70, name: tenant }
    descriptors:
      - key: path
        value: /free
        rate_limit: { unlimited: true }
  - key: blocked
    rate_limit: { unit: second, requests_per_unit: 0, name: blocked }
  - key: "404"
    value: yes
    rate_limit: { unit: Day, requests_per_unit: 80, name: written }
  - key: bare
  - key: host
    value: "*.example.com"
    rate_limit: { unit: hour, requests_per_unit: 90, name: subdomain }
  - key: file
    value: /v*/files/*.pdf
    rate_limit: { unit: hour, requests_per_unit: 91, name: pdf }
  - key: file
    value: /v1/*
    rate_limit: { unit: hour, requests_per_unit: 92, name: v1 }
  - key: file
    value: /v*/files/a*
    descriptors:
      - key: mid
        value: bar*b
        rate_limit: { unit: hour, requests_per_unit: 93, name: nested-mid }
`;

async function nameOf(given: Descriptor, domain = "web"): Promise<string | undefined> {
  const { statuses } = await limiterOf(FILE).decide({ domain, descriptors: [given], hits: 0 });
  expect(statuses).toHaveLength(1);
  return statuses[0].currentLimit?.name;
}

describe("a descriptor matches", () => {
  //  what is guaranteed                              entries                                    the limit
  it.each<[string, Record<string, string>, string | undefined]>([
    ["its value before any wildcard", { user: "alice" }, "alice"],
    ["the first wildcard of the file", { user: "albert" }, "al-wildcard"],
    ["a later wildcard if the first does not fit", { user: "adam" }, "a-wildcard"],
    ["a wildcard with nothing in place of the star", { user: "al" }, "al-wildcard"],
    ["the bare key if no value fits", { user: "bob" }, "any-user"],
    ["the bare key with an empty value", { user: "" }, "any-user"],
    ["level by level", { tenant: "gold", path: "/x" }, "gold-path"],
    ["wildcards on a deeper level", { tenant: "gold", path: "/search/a" }, "gold-search"],
    ["nothing above its own depth", { tenant: "gold" }, undefined],
    ["nothing below its own depth", { tenant: "other", path: "/x" }, undefined],
    ["a limit in the middle at just that depth", { tenant: "other" }, "tenant"],
    ["no other order of its entries", { path: "/x", tenant: "gold" }, undefined],
    ["no key that is not there", { other: "x" }, undefined],
    ["no key that is there without a limit", { bare: "x" }, undefined],
    ["keys and values as they are written", { "404": "yes" }, "written"],
    ["no inherited property", { constructor: "x" }, undefined],
    ["nothing without entries", {}, undefined],
    ["a wildcard that begins with the star", { host: "a.example.com" }, "subdomain"],
    ["no wildcard by its end alone", { host: "a.example.com.evil" }, undefined],
    ["wildcards with several stars", { file: "/v2/files/x.pdf" }, "pdf"],
    ["the first wildcard of the file, wherever its stars are", { file: "/v1/files/x.pdf" }, "pdf"],
    ["a later wildcard if one with stars inside does not fit", { file: "/v1/x.pdf" }, "v1"],
    ["stars inside values of both levels", { file: "/v2/files/a", mid: "bar1b" }, "nested-mid"],
    ["nothing where only the key fits", { file: "/v2/files/a", mid: "bar1" }, undefined],
  ])("%s", async (_, entries, name) => {
    expect(await nameOf(descriptor(entries))).toBe(name);
  });

  it("nothing in a domain that is not known", async () => {
    expect(await nameOf(descriptor({ user: "alice" }), "other")).toBeUndefined();
  });

  it("nothing by a limit that it brings along into a domain that is not known", async () => {
    const given = descriptor({ user: "alice" }, { limit: { requestsPerUnit: 1, unit: 1 } });
    expect(await nameOf(given, "other")).toBeUndefined();
  });
});

describe("a status", () => {
  const ask = (limiter: EnvoyLimiter, ...descriptors: Descriptor[]) =>
    limiter.decide({ domain: "web", descriptors, hits: 0 }) as RateLimitResponse;

  it("is OK without a limit where nothing matches", () => {
    expect(ask(limiterOf(FILE), descriptor({ other: "x" }))).toEqual({
      overallCode: 1,
      statuses: [{ code: 1, currentLimit: undefined, remaining: 0, resetSeconds: undefined }],
      responseHeaders: [],
    });
  });

  it("is OK with all that 32 bits hold left where there is no limit", () => {
    const { overallCode, statuses } = ask(
      limiterOf(FILE),
      descriptor({ tenant: "x", path: "/free" }),
    );
    expect(overallCode).toBe(1);
    expect(statuses[0]).toMatchObject({ code: 1, remaining: 4_294_967_295 });
    expect(statuses[0].currentLimit).toBeUndefined();
  });

  it("is OVER_LIMIT immediately where no request is allowed, without a time to come back", async () => {
    const response = await limiterOf(FILE).decide({
      domain: "web",
      descriptors: [descriptor({ blocked: "x" })],
      hits: 0,
    });
    expect(response).toMatchObject({ overallCode: 2, responseHeaders: [] });
    expect(response.statuses[0]).toMatchObject({ code: 2, remaining: 0, resetSeconds: 1 });
  });

  it("comes for each descriptor, in their order", () => {
    const { statuses } = ask(
      limiterOf(FILE),
      descriptor({ other: "x" }),
      descriptor({ user: "alice" }),
      descriptor({ tenant: "x", path: "/free" }),
      descriptor({ user: "bob" }),
    );
    expect(statuses.map((status) => status.currentLimit?.name)).toEqual([
      undefined,
      "alice",
      undefined,
      "any-user",
    ]);
  });

  it("counts each value apart, and the same key on two levels apart", () => {
    const limiter = limiterOf(FILE);
    ask(limiter, descriptor({ user: "bob" }));
    ask(limiter, descriptor({ user: "bob" }));
    expect(ask(limiter, descriptor({ user: "bob" })).statuses[0].remaining).toBe(7);
    expect(ask(limiter, descriptor({ user: "bill" })).statuses[0].remaining).toBe(9);
  });

  //  unit       seconds to its end at a Monday noon (time 12 h into a day; see START_MS)
  it.each([
    ["second", 1],
    ["minute", 60],
    ["hour", 3_600],
    ["day", 43_200],
    ["week", 604_800 - ((START_MS / 1_000) % 604_800)],
    ["month", 2_592_000 - ((START_MS / 1_000) % 2_592_000)],
    ["year", 31_536_000 - ((START_MS / 1_000) % 31_536_000)],
  ])("is reset at the end of its %s", (unit, seconds) => {
    const limit = `{ unit: ${unit}, requests_per_unit: 5 }`;
    const text = `domain: web\ndescriptors:\n  - key: user\n    rate_limit: ${limit}`;
    const { statuses } = ask(limiterOf(text), descriptor({ user: "a" }));
    expect(statuses[0].resetSeconds).toBe(seconds);
  });

  it("has a full limit again when its unit has ended, and not a millisecond earlier", () => {
    const clock = new ManualClock(START_MS + 59_000);
    const limiter = limiterOf(
      FILE.replace("unit: minute, requests_per_unit: 10", "unit: minute, requests_per_unit: 1"),
      clock,
    );
    const bob = descriptor({ user: "bob" });
    expect(ask(limiter, bob).overallCode).toBe(1);
    clock.set(START_MS + 59_999);
    expect(ask(limiter, bob)).toMatchObject({ overallCode: 2, responseHeaders: [{ value: "1" }] });
    clock.set(START_MS + 60_000);
    expect(ask(limiter, bob).overallCode).toBe(1);
  });
});
