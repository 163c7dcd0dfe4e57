import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CHARTS_FOLDER, drawCharts } from "./algorithm-charts.js";

const root = join(import.meta.dirname, "../..");
const charts = drawCharts();
const guide = readFileSync(join(root, "docs/guides/choosing-an-algorithm.md"), "utf8");

describe("the charts of the algorithms", () => {
  it.each([...charts.keys()])("%s is up to date; if not, run `npm run charts`", (name) => {
    expect(readFileSync(join(root, CHARTS_FOLDER, name), "utf8")).toBe(charts.get(name));
  });

  it("are all the files of their folder, and all shown in the guide", () => {
    expect(readdirSync(join(root, CHARTS_FOLDER)).sort()).toEqual([...charts.keys()].sort());
    expect([...charts.keys()].filter((name) => !guide.includes(`](../charts/${name})`))).toEqual(
      [],
    );
  });
});
