import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ReplayReport } from "../replay-report.js";
import { toHtmlPage } from "./report-page.js";

const HOSTILE = `"><script>alert(1)</script>'&\u0000\u202e`;

const REPORT: ReplayReport = {
  sluiceReplay: 1,
  rules: { file: `${HOSTILE}.yaml`, version: "1", rules: 1 },
  against: { file: HOSTILE, version: "2", rules: 1 },
  isHashed: false,
  fromMs: 0,
  toMs: 60_000,
  log: {
    files: [{ name: HOSTILE, format: HOSTILE, lines: 2, malformed: 1, problem: HOSTILE }],
    lines: 2,
    malformed: 1,
    malformedLines: [{ file: HOSTILE, line: 1, why: HOSTILE, text: HOSTILE }],
    late: 0,
    lateForRoom: 0,
    farAhead: 0,
    isWholeSeconds: false,
  },
  requests: {
    total: 2,
    refused: 1,
    delayed: 1,
    refusedBefore: 0,
    newlyRefused: 1,
    newlyAllowed: 0,
  },
  callers: { total: 1, refused: 1, refusedBefore: 0, areExact: false },
  series: { stepMs: 1_000, requests: [1, 1], refused: [0, 1], refusedBefore: [0, 0] },
  byRule: [
    {
      rule: HOSTILE,
      matched: 2,
      refused: 1,
      shadowRefused: 1,
      matchedBefore: 2,
      refusedBefore: 0,
      newlyRefused: 1,
      newlyAllowed: 0,
      keysRefused: 1,
      areKeysExact: false,
      firstMs: 1_000,
      lastMs: 1_000,
      series: [0, 1],
      seriesBefore: [0, 0],
    },
  ],
  byKey: [
    {
      rule: HOSTILE,
      key: HOSTILE,
      refused: 1,
      refusedBefore: 0,
      newlyRefused: 1,
      newlyAllowed: 0,
      firstMs: 1_000,
      lastMs: 1_000,
      series: [0, 1],
      stepMs: 1_000,
    },
  ],
  keysLeftOut: 3,
  areKeysExact: false,
  notes: [{ rule: HOSTILE, isLeftOut: true, isAgainst: true, why: HOSTILE }],
  remarks: [HOSTILE],
};

describe("the page of a report", () => {
  const page = toHtmlPage(REPORT);

  it("labels the axes of its plot: times, and the most requests a second", () => {
    const series = { stepMs: 2_000, requests: [5, 250], refused: [0, 1], refusedBefore: null };
    const labelled = toHtmlPage({ ...REPORT, series });
    expect(labelled).toContain(
      '<div class="y"><span>125 requests a second</span><span>0</span></div>',
    );
    expect(labelled).toContain(
      '<div class="x"><span>1970-01-01 00:00:00 UTC</span><span>1970-01-01 00:00:02 UTC</span><span>1970-01-01 00:00:04 UTC</span></div>',
    );
  });

  it("escapes every string, and has no script, no address and no style but its own", () => {
    expect(page).not.toContain("<script");
    expect(page).not.toContain("alert(1)</");
    for (const character of ["\u0000", "\u202e"]) expect(page).not.toContain(character);
    expect(page).not.toMatch(/\b(?:src|href|on\w+|style)=/);
    expect(page).not.toMatch(/https?:|url\(|@import/);
    // Every place that shows a string shows this one, escaped.
    expect(page.split("&lt;script&gt;").length - 1).toBeGreaterThanOrEqual(14);
  });

  it("allows its own style sheet by hash and nothing else", () => {
    const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(page).toContain(`default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;;`);
  });

  it("shows the figures, and a plot over time of all, of each rule and of each key", () => {
    expect(page).toContain("1 of 2 requests (50%)");
    expect(page.match(/<svg /g)).toHaveLength(3);
    expect(page).toContain("3 more keys are not listed");
    expect(page).toContain("about 1 of 1 caller would have been refused");
  });

  it("has a column for rules in shadow mode only if they would refuse requests", () => {
    const [rule] = REPORT.byRule;
    const without = toHtmlPage({ ...REPORT, byRule: [{ ...rule, shadowRefused: 0 }] });
    expect(page).toContain("<th>if enforced</th>");
    expect(without).not.toContain("<th>if enforced</th>");
    expect(cellsOf(page) - cellsOf(without)).toBe(1);
  });
});

function cellsOf(page: string): number {
  return page.split("<td").length - 1;
}
