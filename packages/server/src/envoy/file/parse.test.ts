import { describe, expect, it } from "vitest";
import { DEPTH_MAX, parseFile } from "./parse.js";

const parse = (text: string) => parseFile("ratelimit.yaml", text);
/** A file with one descriptor whose limit says this; the limit stands on line 4. */
const withLimit = (limit: string) =>
  parse(`domain: web\ndescriptors:\n  - key: user\n    rate_limit: ${limit}\n`);

describe("a file", () => {
  it("is read with every key that envoyproxy/ratelimit knows", () => {
    const { domain, problems, warnings } = parse(`
domain: web
descriptors:
  - key: user
    value: a*
    shadow_mode: true
    quota_mode: no
    detailed_metric: yes
    value_to_metric: on
    share_threshold: true
    metadata:
      owner: { team: [x, y] }
      anything: goes
    rate_limit:
      unit: Second
      requests_per_unit: 1_000
      name: fast
      replaces:
        - name: slow
    descriptors:
      - key: path
        rate_limit: { unlimited: true }
`);
    expect([problems, warnings]).toEqual([[], []]);
    expect(domain).toMatchObject({
      domain: "web",
      place: "ratelimit.yaml:2",
      descriptors: [
        {
          key: "user",
          value: "a*",
          place: "ratelimit.yaml:4",
          shadow: true,
          isQuota: false,
          isShared: true,
          limit: {
            kind: "counted",
            current: { requestsPerUnit: 1_000, unit: 1, name: "fast" },
            replaces: ["slow"],
          },
          descriptors: [{ key: "path", limit: { kind: "unlimited" } }],
        },
      ],
    });
  });

  it("may use anchors, aliases and merged maps", () => {
    const { domain, problems } = parse(`
domain: web
descriptors:
  - &one
    key: user
    rate_limit: &limit { unit: minute, requests_per_unit: 5 }
  - <<: *one
    key: ip
  - key: path
    rate_limit:
      <<: *limit
      requests_per_unit: 6
`);
    expect(problems).toEqual([]);
    const limits = domain?.descriptors.map(({ key, limit }) => [
      key,
      limit?.current.requestsPerUnit,
    ]);
    expect(limits).toEqual([
      ["user", 5],
      ["ip", 5],
      ["path", 6],
    ]);
  });

  it("may have no descriptors, and limits without a number, which let nothing pass", () => {
    expect(parse("domain: web\ndescriptors:\n").domain?.descriptors).toEqual([]);
    expect(withLimit("{ unit: day }").domain?.descriptors[0].limit?.kind).toBe("never");
    expect(withLimit("").domain?.descriptors[0].limit).toBeUndefined();
  });

  it("reports known keys where they have no effect", () => {
    const { problems, warnings } = withLimit(
      "{ unit: day, requests_per_unit: 1, shadow_mode: true }",
    );
    expect([problems, warnings]).toEqual([
      [],
      ["ratelimit.yaml:4: shadow_mode has no effect here"],
    ]);
  });
});

describe("what envoyproxy/ratelimit reads all the same is read, with a warning", () => {
  it.each<[string, string, string, readonly string[]]>([
    [
      "a key twice, of which the last one counts",
      "domain: a\ndomain: b\ndescriptors: [{ key: x, key: y }]",
      "b",
      [
        "ratelimit.yaml:2: this key occurs twice; the last one counts",
        "ratelimit.yaml:3: this key occurs twice; the last one counts",
      ],
    ],
    [
      "a second document, which is ignored with its mistakes",
      "domain: a\ndescriptors: [{ key: y }]\n---\ndomain: b\nother: [",
      "a",
      [
        "ratelimit.yaml:3: only the first document of a file is read; this one and those after it are ignored",
      ],
    ],
  ])("%s", (_, text, name, expected) => {
    const { domain, problems, warnings } = parse(text);
    expect([problems, warnings]).toEqual([[], expected]);
    expect(domain?.domain).toBe(name);
    expect(domain?.descriptors.map(({ key }) => key)).toEqual(["y"]);
  });

  it("a key of a limit twice, ours too", () => {
    const limit = "{ unit: day, unit: hour, requests_per_unit: 1, requests_per_unit: 2 }";
    const { domain, warnings } = withLimit(limit);
    expect(domain?.descriptors[0].limit?.current).toMatchObject({ unit: 3, requestsPerUnit: 2 });
    expect(warnings).toHaveLength(2);
    const ours = withLimit("{ sluice: { fixedWindow: { limit: 1, limit: 3, windowMs: 5m } } }");
    expect(ours.domain?.descriptors[0].limit?.current.requestsPerUnit).toBe(3);
    expect(ours.warnings).toHaveLength(1);
  });
});

describe("what can't be used is reported with its line", () => {
  it.each([
    ["", "ratelimit.yaml:1: domain is missing or empty"],
    ["descriptors: []", "ratelimit.yaml:1: domain is missing or empty"],
    ["domain: [a]", "ratelimit.yaml:1: domain must be a string, got a list"],
    ["- a", "ratelimit.yaml:1: the file must be a map, got a list"],
    [
      "domain: a\nother: 1",
      'ratelimit.yaml:2: unknown key "other"; known here: domain, descriptors',
    ],
    ["domain: a\ndescriptors: 1", "ratelimit.yaml:2: descriptors must be a list, got 1"],
    ["domain: a\ndescriptors: [x]", 'ratelimit.yaml:2: a descriptor must be a map, got "x"'],
    ["domain: a\ndescriptors:\n  - value: x", "ratelimit.yaml:3: key is missing or empty"],
    [
      "domain: a\ndescriptors:\n  - key: x\n    ratelimit: 1",
      /:4: unknown key "ratelimit"; known here: key/,
    ],
    [
      "domain: a\ndescriptors:\n  - key: x\n    shadow_mode: 2",
      /:4: shadow_mode must be true or false, got 2/,
    ],
    [
      "domain: a\ndescriptors:\n  - key: x\n    share_threshold: true",
      /:4: share_threshold needs a value with a \*/,
    ],
    ["domain: 'a", /:1: Missing closing 'quote/],
    ["domain: *b", /Unresolved alias|alias/],
  ])("%j", (text, problem) => {
    const [seen, ...others] = parse(text).problems;
    expect(others).toEqual([]);
    if (typeof problem === "string") expect(seen).toBe(problem);
    else expect(seen).toMatch(problem);
  });

  it("a composite key twice on one level, however it is written", () => {
    const text = `domain: web
descriptors:
  - key: a
    descriptors:
      - key: b_c
      - key: b
        value: c
`;
    expect(parse(text).problems).toEqual([
      'ratelimit.yaml:6: duplicate descriptor composite key "web.a.b_c", as in ratelimit.yaml:5',
    ]);
  });

  it.each([
    ["{ requests_per_unit: 1 }", "unit is missing; it must be one of second, minute"],
    ["{ unit: fortnight, requests_per_unit: 1 }", 'unit is "fortnight"; it must be one of'],
    ["{ unit: unknown, requests_per_unit: 1 }", 'unit is "unknown"; it must be one of'],
    ["{ unit: day, requests_per_unit: -1 }", "requests_per_unit must be a whole number from 0 to"],
    ["{ unit: day, requests_per_unit: 1.5 }", "requests_per_unit must be a whole number from 0 to"],
    ["{ unit: day, requests_per_unit: 4294967296 }", "got 4294967296"],
    ["{ unit: day, requests_per_unit: ten }", 'got "ten"'],
    ["{ unit: day, unlimited: true }", "unit can't be set beside unlimited"],
    ["{ unit: day, unlimited: maybe }", 'unlimited must be true or false, got "maybe"'],
    ["{ unit: day, replaces: [{ name: '' }] }", "an entry of replaces has no name"],
    ["{ unit: day, replaces: [x] }", "an entry of replaces must be a map"],
    ["{ unit: day, name: x, replaces: [{ name: x }] }", "a limit can't replace itself"],
    ["{ unit: day, requests: 1 }", 'unknown key "requests"; known here: unit'],
    ["5/minute", "rate_limit must be a map"],
    ["{}", "unit is missing"],
    [
      "{ sluice: { tokenBucket: { capacity: 0, refillPerSecond: 1 } } }",
      "sluice.tokenBucket.capacity must be",
    ],
    ["{ sluice: { bucket: {} } }", "sluice.bucket is unknown; known: tokenBucket"],
    ["{ sluice: unlimited }", "sluice is unlimited"],
    ["{ sluice: [1/second, 5/minute] }", "sluice must be one limit"],
    ["{ sluice: { concurrency: { limit: 1, permitMs: 1s } } }", "needs to see responses"],
    ["{ sluice: { leakyBucket: { ratePerSecond: 1, queueSize: 1 } } }", "it needs mode: meter"],
    ["{ sluice: { onStoreFailure: maybe } }", "onStoreFailure must be one of"],
    ["{ unit: day, sluice: 5/minute }", "unit can't be set beside a limit under sluice"],
  ])("rate_limit: %s", (limit, problem) => {
    const { problems, domain } = withLimit(limit);
    expect(domain).toBeUndefined();
    expect(problems.join("\n")).toContain("ratelimit.yaml:4: ");
    expect(problems.join("\n")).toContain(problem);
  });

  it("our own key anywhere else: it is never ignored", () => {
    const text = "domain: a\ndescriptors:\n  - key: x\n    sluice: 5/minute\n";
    expect(parse(text).problems[0]).toMatch(/:4: unknown key "sluice"/);
  });

  it("descriptors that are nested without end", () => {
    const text = "domain: a\ndescriptors: &all\n  - key: x\n    descriptors: *all\n";
    expect(parse(text).problems).toEqual([
      `ratelimit.yaml:3: descriptors are nested deeper than ${DEPTH_MAX}`,
    ]);
  });

  it("aliases that would add up to more descriptors than the bound", () => {
    const levels = Array.from({ length: 8 }, (_, i) => {
      const inner = i === 0 ? "" : `, descriptors: *l${i - 1}`;
      const items = Array.from({ length: 8 }, (_, j) => `{ key: k${j}${inner} }`);
      return `  - &m${i} { key: m${i}, descriptors: &l${i} [${items.join(", ")}] }`;
    });
    const { problems } = parse(`domain: a\ndescriptors:\n${levels.join("\n")}\n`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/more than 100000 descriptors/);
  });

  it.each([
    [
      "that contains itself",
      "&all { a: *all }",
      /:4: metadata has more than 1000 values, or is too deep/,
    ],
    [
      "whose aliases add up",
      `{ a: &a [${Array(40).fill("x").join(", ")}], b: [${Array(40).fill("*a").join(", ")}] }`,
      /:4: metadata has more than 1000 values/,
    ],
    [
      "that is long",
      `{ a: "${"x".repeat(20_000)}" }`,
      /:4: metadata is longer than 16384 characters/,
    ],
    ["that is a text", "gold", /:4: metadata must be a map, got "gold"/],
  ])("metadata %s", (_, metadata, problem) => {
    const { problems } = parse(`domain: a\ndescriptors:\n  - key: x\n    metadata: ${metadata}\n`);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it("all problems of a file together", () => {
    const text =
      "domain: a\nx: 1\ndescriptors:\n  - key: u\n    rate_limit: { unit: eon }\n    y: 2\n";
    expect(parse(text).problems).toHaveLength(3);
  });
});

it("our own key may only say what answers when the store does not", () => {
  const { domain } = withLimit(
    "{ unit: day, requests_per_unit: 3, sluice: { onStoreFailure: closed } }",
  );
  const limit = domain?.descriptors[0].limit;
  expect([limit?.onStoreFailure, limit?.current.requestsPerUnit]).toEqual(["closed", 3]);
});
