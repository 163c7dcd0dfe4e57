import { describe, expect, it } from "vitest";
import { readOptions } from "./options.js";

const none = { quick: false, json: false, markdown: false, write: false };

describe("the command line of the benchmarks", () => {
  it("without arguments runs all of them, in full", () => {
    expect(readOptions([])).toEqual({ ...none, names: [] });
  });

  it("takes names and options in any order", () => {
    const options = { ...none, quick: true, json: true, names: ["memory", "rules/three"] };
    expect(readOptions(["memory", "--quick", "rules/three", "--json"])).toEqual(options);
    expect(readOptions(["--json", "--quick", "memory", "rules/three"])).toEqual(options);
  });

  it("writes the page after a run of all or of some", () => {
    expect(readOptions(["--write"])).toMatchObject({ write: true, names: [] });
    expect(readOptions(["http", "--write"])).toMatchObject({ write: true, names: ["http"] });
  });

  it.each([
    [["--quik"], "--quik"],
    [["--quick=yes"], "--quick"],
    [["memroy"], 'no benchmark starts with "memroy"; there are\n  memory/map\n'],
    [["--quick", "--write"], "--write needs full sizes"],
  ])("refuses %j", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
