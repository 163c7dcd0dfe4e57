// What envoyproxy/ratelimit makes of files, as a list: users who move over have such files.

import { describe, expect, it } from "vitest";
import { makeFiles } from "../../../test/envoy-harness.js";
import { loadFiles } from "./load.js";

const LIMIT = "rate_limit: { unit: second, requests_per_unit: 5 }";

/** Loads these strings as files of one folder. */
async function load(texts: readonly string[], mergeDomains = false) {
  const files = Object.fromEntries(texts.map((text, i) => [`${i}.yaml`, text]));
  return loadFiles([makeFiles(files)], { mergeDomains });
}

describe("a file is refused", () => {
  it.each<[string, string, RegExp]>([
    ["without a domain", `descriptors: [{ key: a, ${LIMIT} }]`, /domain is missing/],
    ["with an empty domain", "domain: ''\ndescriptors: []", /domain is missing/],
    ["that is empty", "", /domain is missing/],
    ["with an empty key", `domain: a\ndescriptors: [{ key: "", ${LIMIT} }]`, /key is missing/],
    ["without a key", `domain: a\ndescriptors: [{ value: x, ${LIMIT} }]`, /key is missing/],
    [
      "with a key and value twice",
      "domain: a\ndescriptors: [{ key: k, value: v }, { key: k, value: v }]",
      /duplicate descriptor composite key "a\.k_v"/,
    ],
    [
      "with a key and value that read like another key",
      "domain: a\ndescriptors: [{ key: k_v }, { key: k, value: v }]",
      /duplicate descriptor composite key "a\.k_v"/,
    ],
    [
      "with an invalid unit",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: foo, requests_per_unit: 1 } }]",
      /unit is "foo"/,
    ],
    [
      "with a limit without a unit",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { requests_per_unit: 1 } }]",
      /unit is missing/,
    ],
    [
      "with a unit beside unlimited",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unlimited: true, unit: day } }]",
      /unit can't be set beside unlimited/,
    ],
    [
      "with a limit that replaces itself",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: day, name: x, replaces: [{ name: x }] } }]",
      /can't replace itself/,
    ],
    [
      "with an empty name to replace",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: day, replaces: [{ name: '' }] } }]",
      /has no name/,
    ],
    ["that is not YAML", "domain: a\ndescriptors: [", /:2: /],
    [
      "with a misspelt key",
      `domain: a\ndescriptors: [{ key: k, ratelimit: {} }]`,
      /unknown key "ratelimit"/,
    ],
    [
      "with a misspelt key of a limit",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: day, requestsperunit: 1 } }]",
      /unknown key "requestsperunit"/,
    ],
    ["with a key that is a number", "domain: a\n0.25: x", /unknown key "0\.25"/],
    [
      "with a list of other things than maps",
      "domain: a\ndescriptors: [a, b]",
      /must be a map, got "a"/,
    ],
    [
      "with a negative number of requests",
      "domain: a\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: -1 } }]",
      /whole number/,
    ],
    [
      "with an invalid flag",
      "domain: a\ndescriptors: [{ key: k, shadow_mode: maybe }]",
      /shadow_mode must be true or false/,
    ],
    [
      "with share_threshold for a value without a star",
      "domain: a\ndescriptors: [{ key: k, value: v, share_threshold: true }]",
      /share_threshold needs a value with a \*/,
    ],
    [
      "with share_threshold without a value",
      "domain: a\ndescriptors: [{ key: k, share_threshold: true }]",
      /share_threshold needs a value with a \*/,
    ],
    [
      "with metadata that is not a map",
      "domain: a\ndescriptors: [{ key: k, metadata: [x] }]",
      /metadata must be a map, got a list/,
    ],
  ])("%s", async (_, text, problem) => {
    await expect(load([text])).rejects.toThrow(problem);
  });
});

describe("a file is read", () => {
  it.each([
    ["second", 1],
    ["MINUTE", 2],
    ["Hour", 3],
    ["day", 4],
    ["month", 5],
    ["year", 6],
    ["week", 7],
  ])("with the unit %s", async (unit, number) => {
    const limit = `rate_limit: { unit: ${unit}, requests_per_unit: 5 }`;
    const { domains } = await load([`domain: a\ndescriptors: [{ key: k, ${limit} }]`]);
    expect(domains[0].descriptors[0].limit?.current).toMatchObject({
      requestsPerUnit: 5,
      unit: number,
    });
  });

  it.each<[string, string, object]>([
    ["without descriptors", "domain: a", { descriptors: [] }],
    [
      "with values that look like numbers",
      "domain: a\ndescriptors: [{ key: 1, value: 404 }]",
      { descriptors: [{ key: "1", value: "404" }] },
    ],
    [
      "with all flags",
      `domain: a
descriptors:
  - { key: k, value: x*, shadow_mode: yes, quota_mode: on, detailed_metric: true, value_to_metric: false, share_threshold: true }`,
      { descriptors: [{ shadow: true, isQuota: true, isShared: true }] },
    ],
    [
      "with share_threshold for a star inside the value",
      "domain: a\ndescriptors: [{ key: k, value: a*b*c, share_threshold: true }]",
      { descriptors: [{ isShared: true }] },
    ],
    [
      "with any keys in metadata",
      "domain: a\ndescriptors: [{ key: k, metadata: { 1: one, nested: { anything: [x, { y: 2.5 }] } } }]",
      { descriptors: [{ metadata: { 1: "one", nested: { anything: ["x", { y: 2.5 }] } } }] },
    ],
    ["by the last of equal keys", "domain: a\ndomain: b", { domain: "b" }],
    ["up to its second document", "domain: a\n---\ndomain: b\nunknown: 1", { domain: "a" }],
  ])("%s", async (_, text, expected) => {
    const { domains } = await load([text]);
    expect(domains).toHaveLength(1);
    expect(domains[0]).toMatchObject(expected);
  });
});

describe("MERGE_DOMAIN_CONFIG", () => {
  const [FIRST, SECOND] = ["x", "y"].map(
    (key) => `domain: web\ndescriptors: [{ key: ${key}, ${LIMIT} }]`,
  );
  const keysOf = async (texts: readonly string[]) => {
    const { domains } = await load(texts, true);
    return domains.map(({ domain, descriptors }) => [domain, ...descriptors.map(({ key }) => key)]);
  };

  it("off, a domain in two files is refused", async () => {
    await expect(load([FIRST, SECOND])).rejects.toThrow(
      /1\.yaml:1: duplicate domain "web", as in .*0\.yaml:1/,
    );
  });

  it("joins the descriptors of both files, in their order", async () => {
    expect(await keysOf([FIRST, "domain: other", SECOND])).toEqual([["web", "x", "y"], ["other"]]);
  });

  it("refuses a descriptor that two files have", async () => {
    await expect(load([FIRST, FIRST], true)).rejects.toThrow(
      /1\.yaml:2: duplicate descriptor composite key "web\.x", as in .*0\.yaml:2/,
    );
  });
});
