import { describe, expect, it } from "vitest";
import { type Bench, toResult } from "../bench.js";
import { toJsonLine, toText } from "../report.js";
import { excessOf } from "./admissions.js";
import { runCallers } from "./callers.js";
import { commandsPer, connect, countCommands, meanCount, withRedis } from "./server.js";

describe("the excess of admissions", () => {
  const bucket = { capacity: 2, perSec: 1000 };

  //  admitted at                 excess     (capacity 2, one a millisecond)
  it.each<[readonly number[], number]>([
    [[], 0],
    [[5, 5], 0],
    [[5, 5, 6, 7], 0],
    [[5, 5, 5], 1],
    [[0, 9, 9, 9, 10, 10], 2],
    [[0, 0, 0, 50, 50, 50, 50], 2],
  ])("of %j is %d", (atMs, excess) => {
    expect(excessOf(atMs, bucket)).toBe(excess);
  });
});

describe("counting commands", () => {
  it("counts calls of scripts and what they call inside, and no INFO", async () => {
    await withRedis(async (redis) => {
      const client = await connect(redis);
      const before = await countCommands(redis);
      for (let i = 0; i < 3; i++) await client.eval("return redis.call('INCR', KEYS[1])", 1, "key");
      const after = await countCommands(redis);
      expect(commandsPer(1, { before, after })).toEqual({ scripts: 3, all: 6 });
      expect(commandsPer(10, { before, after })).toEqual({ scripts: 30, all: 60 });
      client.disconnect();
    });
  });

  it("takes the mean, in which a single bad round shows", () => {
    const quiet = { scripts: 0, all: 0 };
    expect(meanCount([quiet, quiet, { scripts: 3, all: 9 }])).toEqual({ scripts: 1, all: 3 });
  });
});

describe("callers", () => {
  it("ask as often as requested, so many at a time, and count what was admitted", async () => {
    let [asked, waiting, waitingMax] = [0, 0, 0];
    const admitted = await runCallers({ operations: 1000, callers: 7 }, async () => {
      const isAdmitted = asked++ % 4 === 0;
      waitingMax = Math.max(waitingMax, ++waiting);
      await Promise.resolve();
      waiting--;
      return isAdmitted;
    });
    expect({ asked, admitted, waitingMax }).toEqual({ asked: 1000, admitted: 250, waitingMax: 7 });
  });
});

describe("a goal without a bar", () => {
  const bench: Bench = {
    id: "test",
    unit: "bytes per key",
    bound: { is: "at most", goal: 120 },
    parts: [],
    runPart: () => 0,
    conclude: () => [],
  };

  it("is what the verdict is about", () => {
    const [light, heavy] = [100, 200].map((value) => toResult(bench, { subject: "s", value }));
    expect([light?.verdict, light?.goalVerdict]).toEqual(["reached", "reached"]);
    expect([heavy?.verdict, heavy?.goalVerdict]).toEqual(["missed", "missed"]);
    expect(toText(light as never)).toContain("goal reached (goal ≤ 120.0 B)");
    expect(toText(heavy as never)).toContain("goal missed (goal ≤ 120.0 B)");
    expect(JSON.parse(toJsonLine(heavy as never))).toMatchObject({ bar: null, goal: 120 });
  });
});
