// What envoyproxy/ratelimit does with requests, as a list: users who move over rely on each of these. Its files are in
// file/compatibility.test.ts. What differs on purpose is in docs/guides/envoy.md and not here.
//
// A request is written `user=a + tenant=gold,path=/x`: descriptors, each with its entries; ` @3` are hits of one
// descriptor, ` {5/DAY}` a limit that it brings along. An answer is `OVER: OK 10/MINUTE 9 | OVER 1/HOUR 0`: the overall
// code, then the code, the limit and what is left of each descriptor; `-` stands for no limit.

import { describe, expect, it } from "vitest";
import { limiterOf } from "../../test/envoy-harness.js";
import type { Modes } from "./limiter/limiter.js";
import type { ResponseStyle } from "./limiter/rate-limit-response.js";
import { CODE, type Descriptor, type RateLimitResponse, UNIT_NAMES } from "./messages.js";

interface Setting {
  readonly modes?: Partial<Modes>;
  readonly style?: Partial<ResponseStyle>;
  readonly hits?: number;
}

const NAMES = {
  limit: "RateLimit-Limit",
  remaining: "RateLimit-Remaining",
  reset: "RateLimit-Reset",
};

function makeAsk(descriptors: string, { modes, style, hits = 0 }: Setting = {}) {
  const limiter = limiterOf(`domain: web\ndescriptors:${descriptors}`, undefined, {
    modes: { shadow: false, isQuota: false, ...modes },
    style: {
      responseHeaders: undefined,
      requestHeaders: undefined,
      dynamicMetadata: false,
      ...style,
    },
  });
  return async (request: string, domain = "web") =>
    limiter.decide({ domain, descriptors: request.split(" + ").map(toDescriptor), hits });
}

function toDescriptor(written: string): Descriptor {
  const [, pairs = "", hits, most, unit] =
    /^(.*?)(?: @(\d+))?(?: \{(\d+)\/([A-Z]+)\})?$/.exec(written) ?? [];
  return {
    entries: pairs === "" ? [] : pairs.split(",").map(toEntry),
    limit: unit === undefined ? undefined : { requestsPerUnit: Number(most), unit: toUnit(unit) },
    hits: hits === undefined ? undefined : Number(hits),
    isNegative: false,
  };
}

function toEntry(pair: string) {
  const at = pair.indexOf("=");
  return { key: pair.slice(0, at), value: pair.slice(at + 1) };
}

function toUnit(name: string): number {
  return UNIT_NAMES.indexOf(name as (typeof UNIT_NAMES)[number]);
}

function write({ overallCode, statuses }: RateLimitResponse): string {
  const codeOf = (code: number) => (code === CODE.ok ? "OK" : "OVER");
  const written = statuses.map(({ code, currentLimit, remaining }) => {
    const limit =
      currentLimit && `${currentLimit.requestsPerUnit}/${UNIT_NAMES[currentLimit.unit]}`;
    return `${codeOf(code)} ${limit ?? "-"} ${remaining}`;
  });
  return `${codeOf(overallCode)}: ${written.join(" | ")}`;
}

type Case = [what: string, steps: readonly (readonly [request: string, answer: string])[]];

/** Each case starts with nothing counted. */
function checkAll(descriptors: string, cases: readonly Case[], setting?: Setting): void {
  it.each(cases)("%s", async (_, steps) => {
    const ask = makeAsk(descriptors, setting);
    for (const [request, answer] of steps) {
      expect(`${request} → ${write(await ask(request))}`).toBe(`${request} → ${answer}`);
    }
  });
}

const NOTHING = "OK: OK - 0";
const UNLIMITED = 4_294_967_295;

describe("a descriptor is matched:", () => {
  checkAll(
    `
  - key: tenant
    value: gold
    descriptors:
      - key: path
        rate_limit: { unit: second, requests_per_unit: 5 }
      - key: path
        value: /search
        rate_limit: { unit: second, requests_per_unit: 10 }
      - key: path
        value: /a/*
        rate_limit: { unit: second, requests_per_unit: 11 }
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 20 }
    descriptors:
      - key: path
        rate_limit: { unit: minute, requests_per_unit: 21 }
  - key: user
    value: alice
    rate_limit: { unit: minute, requests_per_unit: 30 }
  - key: user
    value: listed
  - key: app
    value: foo
    rate_limit: { unit: hour, requests_per_unit: 40 }
  - key: free
    rate_limit: { unlimited: true }
`,
    [
      ["not without entries", [["", NOTHING]]],
      ["not by a key that is not there", [["other=x", NOTHING]]],
      ["not where the file has no limit", [["tenant=gold", NOTHING]]],
      ["by the bare key on a second level", [["tenant=gold,path=/x", "OK: OK 5/SECOND 4"]]],
      [
        "by the value on a second level before the bare key",
        [["tenant=gold,path=/search", "OK: OK 10/SECOND 9"]],
      ],
      ["by a wildcard on a second level", [["tenant=gold,path=/a/b", "OK: OK 11/SECOND 10"]]],
      ["by the bare key, whatever the value", [["user=bob", "OK: OK 20/MINUTE 19"]]],
      ["by the bare key with an empty value", [["user=", "OK: OK 20/MINUTE 19"]]],
      ["by the value before the bare key", [["user=alice", "OK: OK 30/MINUTE 29"]]],
      ["not by the bare key if the value is listed without a limit", [["user=listed", NOTHING]]],
      [
        "with a limit on both levels, by the one at its depth",
        [["user=bob,path=/", "OK: OK 21/MINUTE 20"]],
      ],
      ["not if it is deeper than the file", [["user=bob,path=/,more=x", NOTHING]]],
      ["not below a value that has no descriptors", [["user=alice,path=/", NOTHING]]],
      ["not if it skips a level", [["path=/x", NOTHING]]],
      ["not in another order of its entries", [["path=/x,tenant=gold", NOTHING]]],
      [
        "not in another case",
        [
          ["User=alice", NOTHING],
          ["user=Alice", "OK: OK 20/MINUTE 19"],
        ],
      ],
      ["not by the beginning of a value without a star", [["app=foo1", NOTHING]]],
      ["as unlimited, with all that 32 bits hold left", [["free=x", `OK: OK - ${UNLIMITED}`]]],
      [
        "with values of the bare key counted apart",
        [
          ["user=a", "OK: OK 20/MINUTE 19"],
          ["user=a", "OK: OK 20/MINUTE 18"],
          ["user=b", "OK: OK 20/MINUTE 19"],
        ],
      ],
    ],
  );

  it("not in a domain that no file has", async () => {
    const ask = makeAsk("\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: 1 }");
    expect(write(await ask("user=a", "elsewhere"))).toBe(NOTHING);
  });
});

describe("a wildcard", () => {
  checkAll(
    `
  - key: a
    value: foo*
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: b
    value: bar*b
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: c
    value: foo*bar*baz
    rate_limit: { unit: hour, requests_per_unit: 3 }
  - key: d
    value: "*.example.com"
    rate_limit: { unit: hour, requests_per_unit: 4 }
  - key: e
    value: x*
    rate_limit: { unit: hour, requests_per_unit: 5 }
  - key: e
    value: x*z
    rate_limit: { unit: hour, requests_per_unit: 6 }
  - key: e
    value: xyz
    rate_limit: { unit: hour, requests_per_unit: 7 }
  - key: e
    rate_limit: { unit: hour, requests_per_unit: 8 }
  - key: f
    value: a*c
    descriptors:
      - key: g
        value: "*"
        rate_limit: { unit: hour, requests_per_unit: 9 }
`,
    [
      ["at the end stands for what follows", [["a=foobar", "OK: OK 1/HOUR 0"]]],
      ["stands for nothing too", [["a=foo", "OK: OK 1/HOUR 0"]]],
      ["does not match another beginning", [["a=bar", NOTHING]]],
      ["does not match another key", [["b=foobar", NOTHING]]],
      ["inside a value matches", [["b=barab", "OK: OK 2/HOUR 1"]]],
      ["inside a value needs the end", [["b=baraba", NOTHING]]],
      [
        "inside a value needs beginning and end apart",
        [
          ["b=bar", NOTHING],
          ["b=barb", "OK: OK 2/HOUR 1"],
        ],
      ],
      ["with two stars matches", [["c=foo1bar2baz", "OK: OK 3/HOUR 2"]]],
      ["with two stars needs its parts in order", [["c=foobazbar", NOTHING]]],
      [
        "with two stars needs its parts apart",
        [
          ["c=foobarbaz", "OK: OK 3/HOUR 2"],
          ["c=foobabaz", NOTHING],
        ],
      ],
      [
        "with two stars goes past a part that comes too early",
        [["c=foobar-bar-baz", "OK: OK 3/HOUR 2"]],
      ],
      ["at the beginning matches", [["d=a.b.example.com", "OK: OK 4/HOUR 3"]]],
      ["at the beginning needs the end", [["d=a.example.com.org", NOTHING]]],
      ["comes after the value as it is", [["e=xyz", "OK: OK 7/HOUR 6"]]],
      ["comes in the order of the file", [["e=x-z", "OK: OK 5/HOUR 4"]]],
      [
        "comes before the bare key",
        [
          ["e=x", "OK: OK 5/HOUR 4"],
          ["e=y", "OK: OK 8/HOUR 7"],
        ],
      ],
      [
        "leads on to the next level",
        [
          ["f=abc,g=", "OK: OK 9/HOUR 8"],
          ["f=abc", NOTHING],
        ],
      ],
      ["matches itself as a value", [["b=bar*b", "OK: OK 2/HOUR 1"]]],
      [
        "counts each value apart",
        [
          ["b=bar1b", "OK: OK 2/HOUR 1"],
          ["b=bar2b", "OK: OK 2/HOUR 1"],
          ["b=bar1b", "OK: OK 2/HOUR 0"],
        ],
      ],
    ],
  );
});

describe("share_threshold", () => {
  checkAll(
    `
  - key: file
    value: /f/*
    share_threshold: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: api
    value: /v*/items/*
    share_threshold: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: path
    value: "*.pdf"
    share_threshold: true
    descriptors:
      - key: user
        rate_limit: { unit: hour, requests_per_unit: 2 }
`,
    [
      [
        "counts all values of a wildcard as one",
        [
          ["file=/f/a", "OK: OK 2/HOUR 1"],
          ["file=/f/b", "OK: OK 2/HOUR 0"],
          ["file=/f/c", "OVER: OVER 2/HOUR 0"],
        ],
      ],
      [
        "counts them as one with stars inside",
        [
          ["api=/v1/items/a", "OK: OK 2/HOUR 1"],
          ["api=/v2/items/b", "OK: OK 2/HOUR 0"],
          ["api=/v3/items/c", "OVER: OVER 2/HOUR 0"],
        ],
      ],
      [
        "holds for limits below it, with their own entries apart",
        [
          ["path=a.pdf,user=x", "OK: OK 2/HOUR 1"],
          ["path=b.pdf,user=x", "OK: OK 2/HOUR 0"],
          ["path=c.pdf,user=x", "OVER: OVER 2/HOUR 0"],
          ["path=c.pdf,user=y", "OK: OK 2/HOUR 1"],
        ],
      ],
    ],
  );
});

const LIMITS = `
  - key: one
    rate_limit: { unit: hour, requests_per_unit: 1, name: by-one }
  - key: ten
    rate_limit: { unit: minute, requests_per_unit: 10 }
  - key: none
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: shadow
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: shadow2
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: free
    rate_limit: { unlimited: true }
  - key: quota
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: large
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: both
    quota_mode: true
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
`;

describe("a request", () => {
  checkAll(LIMITS, [
    [
      "has a status for each descriptor, in their order",
      [
        [
          "other=x + one=a + free=b + ten=c",
          `OK: OK - 0 | OK 1/HOUR 0 | OK - ${UNLIMITED} | OK 10/MINUTE 9`,
        ],
      ],
    ],
    [
      "is over if one descriptor is, wherever it stands",
      [
        ["one=a", "OK: OK 1/HOUR 0"],
        ["one=a + other=x", "OVER: OVER 1/HOUR 0 | OK - 0"],
        ["other=x + one=a", "OVER: OK - 0 | OVER 1/HOUR 0"],
      ],
    ],
    ["is over from the start if its limit is 0", [["none=a", "OVER: OVER 0/DAY 0"]]],
    [
      "with hits on a descriptor counts these",
      [
        ["ten=a @3", "OK: OK 10/MINUTE 7"],
        ["ten=a", "OK: OK 10/MINUTE 6"],
      ],
    ],
    [
      "with no hits on a descriptor counts nothing",
      [
        ["ten=a @0", "OK: OK 10/MINUTE 10"],
        ["ten=a", "OK: OK 10/MINUTE 9"],
      ],
    ],
    [
      "with a limit of its own is under that one",
      [
        ["ten=a {2/DAY}", "OK: OK 2/DAY 1"],
        ["ten=a {2/DAY}", "OK: OK 2/DAY 0"],
        ["ten=a {2/DAY}", "OVER: OVER 2/DAY 0"],
        ["ten=a", "OK: OK 10/MINUTE 9"],
      ],
    ],
    ["with a limit of its own needs none in the file", [["other=x {5/HOUR}", "OK: OK 5/HOUR 4"]]],
    [
      "with a limit of its own is never in the shadow of the file's",
      [
        ["shadow=a {1/HOUR}", "OK: OK 1/HOUR 0"],
        ["shadow=a {1/HOUR}", "OVER: OVER 1/HOUR 0"],
      ],
    ],
  ]);

  it("with a limit of its own has none in a domain that no file has", async () => {
    expect(write(await makeAsk(LIMITS)("ten=a {2/DAY}", "elsewhere"))).toBe(NOTHING);
  });

  it("counts its hits for each descriptor, unless that has its own", async () => {
    const ask = makeAsk(LIMITS, { hits: 4 });
    expect(write(await ask("ten=a + ten=b @1"))).toBe("OK: OK 10/MINUTE 6 | OK 10/MINUTE 9");
  });

  it("gets the name of a limit and the seconds until its reset", async () => {
    const { statuses } = await makeAsk(LIMITS)("one=a + other=x");
    expect(
      statuses.map(({ currentLimit, resetSeconds }) => [currentLimit?.name, resetSeconds]),
    ).toEqual([
      ["by-one", 3_600],
      [undefined, undefined],
    ]);
  });

  it.each([
    ["an empty domain", "ten=a", ""],
    ["no descriptors", undefined, "web"],
  ])("with %s is an error", async (_, request, domain) => {
    const limiter = limiterOf(`domain: web\ndescriptors:${LIMITS}`);
    const descriptors = request === undefined ? [] : [toDescriptor(request)];
    await expect(async () => limiter.decide({ domain, descriptors, hits: 0 })).rejects.toThrow();
  });
});

describe("shadow_mode", () => {
  checkAll(LIMITS, [
    [
      "answers OK with the limit and nothing left",
      [
        ["shadow=a", "OK: OK 1/HOUR 0"],
        ["shadow=a", "OK: OK 1/HOUR 0"],
      ],
    ],
    [
      "answers OK if all limits have it",
      [
        ["shadow=a + shadow2=a", "OK: OK 1/HOUR 0 | OK 1/HOUR 0"],
        ["shadow=a + shadow2=a", "OK: OK 1/HOUR 0 | OK 1/HOUR 0"],
      ],
    ],
    [
      "does not keep another limit from being over",
      [
        ["shadow=a + one=a", "OK: OK 1/HOUR 0 | OK 1/HOUR 0"],
        ["shadow=a + one=a", "OVER: OK 1/HOUR 0 | OVER 1/HOUR 0"],
      ],
    ],
  ]);
});

describe("SHADOW_MODE", () => {
  checkAll(
    LIMITS,
    [
      [
        "answers OK, and the statuses say what is over",
        [
          ["one=a + other=x", "OK: OK 1/HOUR 0 | OK - 0"],
          ["one=a + other=x", "OK: OVER 1/HOUR 0 | OK - 0"],
        ],
      ],
      [
        "does so for quotas",
        [
          ["quota=a", "OK: OK 1/HOUR 0"],
          ["quota=a", "OK: OVER 1/HOUR 0"],
        ],
      ],
      [
        "does so for quotas beside other limits",
        [
          ["quota=a + one=a", "OK: OK 1/HOUR 0 | OK 1/HOUR 0"],
          ["quota=a + one=a", "OK: OVER 1/HOUR 0 | OVER 1/HOUR 0"],
        ],
      ],
      ["does so where nothing is allowed", [["none=a", "OK: OVER 0/DAY 0"]]],
      [
        "does so for limits that come with the request",
        [
          ["ten=a {1/DAY}", "OK: OK 1/DAY 0"],
          ["ten=a {1/DAY}", "OK: OVER 1/DAY 0"],
        ],
      ],
      [
        "leaves the statuses of shadow_mode OK",
        [
          ["shadow=a", "OK: OK 1/HOUR 0"],
          ["shadow=a", "OK: OK 1/HOUR 0"],
        ],
      ],
      [
        "counts limits that are not over beside one that is",
        [
          ["one=a", "OK: OK 1/HOUR 0"],
          ["one=a + ten=a", "OK: OVER 1/HOUR 0 | OK 10/MINUTE 9"],
          ["one=a + ten=a", "OK: OVER 1/HOUR 0 | OK 10/MINUTE 8"],
        ],
      ],
    ],
    { modes: { shadow: true } },
  );
});

describe("quota_mode", () => {
  checkAll(LIMITS, [
    [
      "refuses if another limit is over",
      [
        ["one=a", "OK: OK 1/HOUR 0"],
        ["one=a + large=a", "OVER: OVER 1/HOUR 0 | OK 2/HOUR 2"],
      ],
    ],
    [
      "refuses if the only quota is over, beside limits that are not",
      [
        ["ten=a + quota=a", "OK: OK 10/MINUTE 9 | OK 1/HOUR 0"],
        ["ten=a + quota=a", "OVER: OK 10/MINUTE 9 | OVER 1/HOUR 0"],
      ],
    ],
    [
      "refuses if all quotas are over, and not before",
      [
        ["quota=a + large=a", "OK: OK 1/HOUR 0 | OK 2/HOUR 1"],
        ["quota=a + large=a", "OK: OVER 1/HOUR 0 | OK 2/HOUR 0"],
        ["quota=a + large=a", "OVER: OVER 1/HOUR 0 | OVER 2/HOUR 0"],
      ],
    ],
    [
      "with shadow_mode is a quota that is never over",
      [
        ["quota=a + both=a", "OK: OK 1/HOUR 0 | OK 1/HOUR 0"],
        ["quota=a + both=a", "OK: OVER 1/HOUR 0 | OK 1/HOUR 0"],
      ],
    ],
  ]);
});

describe("QUOTA_MODE", () => {
  checkAll(
    LIMITS,
    [
      [
        "refuses only if all limits are over",
        [
          ["one=a + ten=a", "OK: OK 1/HOUR 0 | OK 10/MINUTE 9"],
          ["one=a + ten=a", "OK: OVER 1/HOUR 0 | OK 10/MINUTE 8"],
          ["one=a", "OVER: OVER 1/HOUR 0"],
        ],
      ],
      ["refuses where nothing is allowed", [["none=a", "OVER: OVER 0/DAY 0"]]],
      [
        "lets pass what has a descriptor without a limit",
        [
          ["one=a", "OK: OK 1/HOUR 0"],
          ["one=a + other=x", "OK: OVER 1/HOUR 0 | OK - 0"],
        ],
      ],
      [
        "does not take what is unlimited for a quota",
        [
          ["one=a", "OK: OK 1/HOUR 0"],
          ["one=a + free=x", `OVER: OVER 1/HOUR 0 | OK - ${UNLIMITED}`],
        ],
      ],
    ],
    { modes: { isQuota: true } },
  );
});

describe("replaces", () => {
  checkAll(
    `
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 1, name: by-ip }
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 5, replaces: [{ name: by-ip }, { name: by-tenant }] }
  - key: admin
    rate_limit: { unlimited: true, replaces: [{ name: by-ip }] }
`,
    [
      [
        "takes the limit with that name out of the request, which costs it nothing",
        [
          ["ip=1 + user=a", "OK: OK - 0 | OK 5/HOUR 4"],
          ["user=a + ip=1", "OK: OK 5/HOUR 3 | OK - 0"],
          ["ip=1", "OK: OK 1/HOUR 0"],
        ],
      ],
      [
        "has no effect on other requests",
        [
          ["ip=1", "OK: OK 1/HOUR 0"],
          ["ip=1", "OVER: OVER 1/HOUR 0"],
        ],
      ],
      ["works for what is unlimited", [["ip=1 + admin=x", `OK: OK - 0 | OK - ${UNLIMITED}`]]],
      [
        "never takes a limit without a name out",
        [["user=a + ip=1 {3/DAY}", "OK: OK 5/HOUR 4 | OK 3/DAY 2"]],
      ],
    ],
  );
});

describe("LIMIT_RESPONSE_HEADERS_ENABLED", () => {
  const headersOf = async (request: string, style: Partial<ResponseStyle>, warmUp?: string) => {
    const ask = makeAsk(LIMITS, { style });
    if (warmUp !== undefined) await ask(warmUp);
    const { responseHeaders, requestHeaders } = await ask(request);
    const toText = (headers: typeof responseHeaders = []) =>
      headers
        .map(({ key, value }) => `${key}: ${value}`)
        .filter((line) => !/^retry-after/.test(line));
    return { response: toText(responseHeaders), request: toText(requestHeaders) };
  };

  it("off, adds no header", async () => {
    expect(await headersOf("one=a + ten=a", {})).toEqual({ response: [], request: [] });
  });

  it.each([
    ["the limit with the least left", "ten=a + one=a", undefined, ["1", "0", "3600"]],
    ["the first of those with as much left", "one=a + shadow=a", undefined, ["1", "0", "3600"]],
    ["a limit that refuses", "one=a + ten=a", "one=a", ["1", "0", "3600"]],
    [
      "the limit that refuses, not a quota that is over before it",
      "quota=a + none=a",
      "quota=a",
      ["0", "0", "43200"],
    ],
  ])("reports %s", async (_, request, warmUp, [limit, remaining, reset]) => {
    const { response } = await headersOf(request, { responseHeaders: NAMES }, warmUp);
    expect(response).toEqual([
      `RateLimit-Limit: ${limit}`,
      `RateLimit-Remaining: ${remaining}`,
      `RateLimit-Reset: ${reset}`,
    ]);
  });

  it("adds no header if no limit applies", async () => {
    expect((await headersOf("other=x + free=y", { responseHeaders: NAMES })).response).toEqual([]);
  });

  it("takes names of the user's, different ones for upstreams and clients", async () => {
    const responseHeaders = { limit: "A-Limit", remaining: "A-Remaining", reset: "A-Reset" };
    const both = await headersOf("ten=a", { responseHeaders, requestHeaders: NAMES });
    expect(both).toEqual({
      response: ["A-Limit: 10", "A-Remaining: 9", "A-Reset: 60"],
      request: ["RateLimit-Limit: 10", "RateLimit-Remaining: 9", "RateLimit-Reset: 60"],
    });
    const upstream = await headersOf("one=a", { requestHeaders: NAMES }, "one=a");
    expect([upstream.response, upstream.request.length]).toEqual([[], 3]);
  });
});

describe("RESPONSE_DYNAMIC_METADATA", () => {
  const METADATA = `
  - key: a
    rate_limit: { unit: hour, requests_per_unit: 1 }
    metadata: { name: first, deep: { x: 1 }, list: [1, two, null, true] }
  - key: b
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
    metadata: { name: second, deep: { x: 2, y: 3 }, other: yes }
  - key: free
    rate_limit: { unlimited: true }
    metadata: { name: free }
  - key: plain
    rate_limit: { unit: hour, requests_per_unit: 1 }
`;
  const metadataOf = async (
    request: string,
    { hits, warmUp }: { hits?: number; warmUp?: string } = {},
  ) => {
    const ask = makeAsk(METADATA, { style: { dynamicMetadata: true }, ...(hits && { hits }) });
    if (warmUp !== undefined) await ask(warmUp);
    return (await ask(request)).dynamicMetadata;
  };

  it("off, there is none", async () => {
    expect((await makeAsk(METADATA)("a=1")).dynamicMetadata).toBeUndefined();
  });

  it("says domain and descriptors", async () => {
    expect(await metadataOf("plain=1,x=2 + other=")).toEqual({
      domain: "web",
      descriptors: [{ entries: ["plain=1", "x=2"] }, { entries: ["other="] }],
    });
  });

  it("says hits, and limits that come along", async () => {
    expect(await metadataOf("plain=1 @3 {7/DAY}", { hits: 5 })).toEqual({
      domain: "web",
      descriptors: [{ entries: ["plain=1"], limit: "requests_per_unit:7 unit:DAY", hitsAddend: 3 }],
      hitsAddend: 5,
    });
  });

  it.each([
    [
      "of a limit that passes",
      "a=1",
      undefined,
      { name: "first", deep: { x: 1 }, list: [1, "two", null, true] },
    ],
    [
      "of none that is over",
      "a=1 + b=1",
      "a=1",
      { name: "second", deep: { x: 2, y: 3 }, other: true },
    ],
    [
      "of several joined, where the first counts",
      "a=1 + b=1",
      undefined,
      { name: "first", deep: { x: 1, y: 3 }, list: [1, "two", null, true], other: true },
    ],
    ["of none where nothing passes", "a=1", "a=1", undefined],
    ["of none that is unlimited", "free=1", undefined, undefined],
  ])("says the metadata %s", async (_, request, warmUp, expected) => {
    const found = await metadataOf(request, warmUp === undefined ? {} : { warmUp });
    expect(found?.metadata).toEqual(expected);
  });
});
