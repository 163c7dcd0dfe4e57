import { describe, expect, it } from "vitest";
import { readReport } from "./read-report.js";

const REPORT = {
  sluiceReplay: 1,
  rules: { file: "new.yaml" },
  against: null,
  requests: { total: 10, refused: 4, refusedBefore: null },
  callers: { total: 3, refused: 1 },
  series: { requests: [5, 5], refused: [0, 4] },
  byRule: [
    { rule: "all", matched: 10, refused: 4, refusedBefore: null, firstMs: 1_000, series: [0, 4] },
  ],
  byKey: [{ rule: null, key: "ip:203.0.113.7", refused: 4, firstMs: 1_000, series: [4] }],
  notes: [{ rule: "parallel", isLeftOut: true, why: "a log does not say it" }],
  remarks: ["one"],
};

describe("reading a report", () => {
  it("takes what is shown", () => {
    expect(readReport(JSON.stringify(REPORT))).toMatchObject({
      rules: "new.yaml",
      against: undefined,
      requests: 10,
      refused: 4,
      callers: 3,
      byRule: [{ name: "all", matched: 10, refused: 4 }],
      byKey: [{ name: "ip:203.0.113.7", rule: "–" }],
      notes: ["parallel was left out: a log does not say it", "one"],
    });
  });

  it.each([
    ["", "not JSON"],
    ["[1]", "not JSON"],
    ['{"a":1}', "not a report"],
    ['{"sluiceReplay":2}', "not a report"],
    ['{"sluiceReplay":1}', "damaged"],
    [JSON.stringify({ ...REPORT, requests: { total: "10" } }), "damaged"],
    [JSON.stringify({ ...REPORT, byRule: [{ rule: "all", refused: -1 }] }), "damaged"],
    [JSON.stringify({ ...REPORT, series: { requests: [null], refused: [] } }), "damaged"],
    [JSON.stringify({ ...REPORT, notes: [{ rule: {}, why: 1 }] }), "damaged"],
  ])("refuses %j, and says why", (text, why) => {
    expect(() => readReport(text)).toThrow(why);
  });

  it("shows a bounded part of a file that goes on and on", () => {
    const many = { ...REPORT, byRule: Array.from({ length: 5_000 }, () => REPORT.byRule[0]) };
    expect(readReport(JSON.stringify(many)).byRule).toHaveLength(200);
  });
});
