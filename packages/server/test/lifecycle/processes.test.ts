// Several processes as one service: limits hold across them, whatever happens to one of them.

import { describe, expect, it } from "vitest";
import { answersOf, countOf, startLoad } from "./load.js";
import { rulesOf, useServe } from "./serve-stand.js";

const { serve } = useServe();

describe("four workers and eight clients", () => {
  it("admit exactly the limit, and metrics are those of all processes", async () => {
    const served = serve(4, rulesOf(100));
    const gateway = await served.url("gateway");
    const admin = await served.url("admin");
    expect(served.workerPids).toHaveLength(4);
    const load = startLoad(gateway, { clients: 8 });
    // Leases may refuse a little early and are returned within a second; then the rest is admitted.
    const first = await untilCounted(load, 100);
    await load.until(first + 400);
    const tally = await load.stop();
    expect(tally.failures).toEqual([]);
    expect(countOf(tally, 200)).toBe(100);
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(/^rate_limiter_allowed_total\{.*outcome="allowed".*\} 100$/m);
    expect(metrics).toMatch(new RegExp(`^http_429_total\\{.*\\} ${countOf(tally, 429)}$`, "m"));
    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
  });
});

/** Resolves when so many were admitted, with how many answers there were by then. */
async function untilCounted(load: ReturnType<typeof startLoad>, admitted: number): Promise<number> {
  for (let answers = 100; answers < 100_000; answers += 100) {
    await load.until(answers);
    if (countOf(load.tally, 200) >= admitted) return answers;
  }
  throw new Error(`${countOf(load.tally, 200)} of ${admitted} were admitted`);
}

describe("a worker that dies", () => {
  it("is replaced, and what it had leased is not spent twice", async () => {
    const served = serve(2, rulesOf(200));
    const gateway = await served.url("gateway");
    const load = startLoad(gateway, { clients: 4 });
    await load.until(50);
    const before = served.workerPids;
    process.kill(before[0], "SIGKILL");
    await served.line(
      ({ msg, pid }) => msg.startsWith("a worker died") && (pid as number) === before[0],
    );
    await served.line(
      ({ msg, pid }) => msg === "worker started" && !before.includes(pid as number),
    );
    await load.until(answersOf(load.tally) + 500);
    const tally = await load.stop();
    expect(countOf(tally, 200)).toBeLessThanOrEqual(200);
    expect(countOf(tally, 200)).toBeGreaterThan(100);
  });
});

describe("a primary that is killed", () => {
  it("takes its workers along: none goes on without its counters", async () => {
    const served = serve(2, rulesOf(10));
    await served.url("gateway");
    await served.kill();
    await expect.poll(() => served.workerPids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
