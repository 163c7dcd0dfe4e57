// Which rules workers lease.

import { withExceptions } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { parseWritten } from "../../core/rules-in-force.js";
import { toLeasedRules, toWorkerRules } from "./worker-rules.js";

const WINDOW = "{ fixedWindow: { limit: 10, windowMs: 1000 } }";

function consistencyOf(rule: string): string {
  const text = `version: 1\nrules:\n  - id: it\n    ${rule}\n`;
  return toWorkerRules({ file: "rules.yaml", text }).rules[0].consistency;
}

describe("a rule that says no consistency", () => {
  it.each([
    ["fixedWindow: { limit: 10, windowMs: 1000 }"],
    ["slidingWindowCounter: { limit: 10, windowMs: 1000 }"],
    ["tokenBucket: { capacity: 10, refillPerSecond: 1 }"],
    ["leakyBucket: { ratePerSecond: 1, queueSize: 5, mode: meter }"],
    ["quota: { limit: 10, period: day }"],
  ])("is leased: %s", (limit) => {
    expect(consistencyOf(`limit: { ${limit} }`)).toBe("leased");
  });

  it.each([
    ["concurrency: { limit: 10, permitMs: 1000 }"],
    ["leakyBucket: { ratePerSecond: 1, queueSize: 5 }"],
    ["slidingWindowLog: { limit: 10, windowMs: 1000 }"],
  ])("is strict: %s", (limit) => {
    expect(consistencyOf(`limit: { ${limit} }`)).toBe("strict");
    expect(consistencyOf(`limit: ${WINDOW}\n    tiers: { pro: { ${limit} } }`)).toBe("strict");
  });

  it("is strict if an exception of it can't be leased", () => {
    const written = {
      file: "rules.yaml",
      text: `version: 1\nrules:\n  - id: it\n    key: tenant\n    limit: ${WINDOW}\n`,
    };
    const consistencyWith = (limits: object) => {
      const exception = { ruleId: "it", by: "tenant", value: "acme", limits } as const;
      const rules = withExceptions(parseWritten(written), [exception]);
      return toLeasedRules(rules, written).rules[0].consistency;
    };
    expect(consistencyWith({ fixedWindow: { limit: 90, windowMs: 1000 } })).toBe("leased");
    expect(consistencyWith({ concurrency: { limit: 9, permitMs: 1000 } })).toBe("strict");
  });

  it("is strict if it makes requests wait", () => {
    const bucket = "{ tokenBucket: { capacity: 10, refillPerSecond: 1 } }";
    const rule = `limit: ${bucket}\n    onExceed: delay\n    delayMsMax: 1000`;
    expect(consistencyOf(rule)).toBe("strict");
  });
});

describe("a rule that says how it is decided", () => {
  it.each(["strict", "leased", "eventual", "local"])("is decided so: %s", (consistency) => {
    expect(consistencyOf(`limit: ${WINDOW}\n    consistency: ${consistency}`)).toBe(consistency);
    const rule = { id: "it", limit: "1000/minute", consistency };
    const inline = { version: 1, rules: [rule] };
    expect(toWorkerRules({ inline }).rules[0].consistency).toBe(consistency);
  });

  it("may say it by a merge key", () => {
    const text = `version: 1
rules:
  - &first { id: a, limit: ${WINDOW}, consistency: strict }
  - { <<: *first, id: b }
`;
    const { rules } = toWorkerRules({ file: "rules.yaml", text });
    expect(rules.map(({ consistency }) => consistency)).toEqual(["strict", "strict"]);
  });
});

describe("the version", () => {
  it("is that of the rules as they were written", () => {
    const inline = { version: 1, rules: [{ id: "it", limit: "1000/minute" }] };
    expect(toWorkerRules({ inline }).version).toBe(parseWritten({ inline }).version);
  });
});
