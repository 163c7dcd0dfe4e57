// Several processes as one service: limits hold across them, whatever happens to one of them.

import { describe, expect, it } from "vitest";
import { answersOf, ask, countOf, startLoad } from "./load.js";
import { rulesOf, useServe } from "./serve-fixture.js";
import { startUpstream } from "./upstream.js";

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

/** Resolves when this many were admitted, with how many answers there were by then. */
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
      ({ msg, pid }) => msg.startsWith("worker exited") && (pid as number) === before[0],
    );
    await served.line(
      ({ msg, pid }) => msg === "worker started" && !before.includes(pid as number),
    );
    await load.until(answersOf(load.tally) + 500);
    const tally = await load.stop();
    expect(countOf(tally, 200)).toBeLessThanOrEqual(200);
    expect(countOf(tally, 200)).toBeGreaterThan(100);
    expect(tally.failures).not.toContain("no answer");
  });
});

describe("a worker that dies before it has taken a connection", () => {
  it("leaves it to another worker, and the client gets its answer", async () => {
    const served = serve(2, rulesOf(200));
    const gateway = await served.url("gateway");
    await expect.poll(() => served.workerPids.length).toBe(2);
    const [stopped] = served.workerPids;
    process.kill(stopped, "SIGSTOP");
    const answers: (number | string)[] = [];
    // The primary hands connections out in turns: one of three at least waits for the stopped worker.
    const asked = Promise.all(
      Array.from({ length: 3 }, async () => answers.push(await ask(gateway))),
    );
    await expect.poll(() => answers.length).toBe(2);
    process.kill(stopped, "SIGKILL");
    await asked;
    expect(answers).toEqual([200, 200, 200]);
  });

  it("has it closed if all workers die", async () => {
    const served = serve(2, rulesOf(200));
    const gateway = await served.url("gateway");
    await expect.poll(() => served.workerPids.length).toBe(2);
    for (const pid of served.workerPids) process.kill(pid, "SIGSTOP");
    const asked = Promise.all([ask(gateway), ask(gateway), ask(gateway)]);
    await (await fetch(`${await served.url("admin")}/metrics`)).text();
    for (const pid of served.workerPids) process.kill(pid, "SIGKILL");
    expect(await asked).toEqual(["ECONNRESET", "ECONNRESET", "ECONNRESET"]);
  });
});

describe("a worker that dies with permits", () => {
  it("leaves them to others immediately, and none that another worker holds", async () => {
    let arrived = 0;
    let go = () => {};
    const reported = new Promise<void>((resolve) => {
      go = resolve;
    });
    const upstream = await startUpstream(() => {
      arrived++;
      return reported;
    });
    const slots = { concurrency: { limit: 4, permitMs: 600_000 } };
    const rules = { version: 1, rules: [{ id: "slots", key: "global", limit: slots }] };
    const served = serve(2, rules, { upstreams: { app: { backends: [upstream.url] } } });
    const gateway = await served.url("gateway");
    const seen: (number | string)[] = [];
    const askOnce = async () => seen.push(await ask(gateway));
    const askFour = () => Promise.all([askOnce(), askOnce(), askOnce(), askOnce()]);
    const countSeen = (what: number | string) => seen.filter((each) => each === what).length;
    const before = askFour();
    await expect.poll(() => arrived, { timeout: 20_000 }).toBe(4);
    process.kill(served.workerPids[0], "SIGKILL");
    await expect.poll(() => served.workerPids.length, { timeout: 20_000 }).toBe(3);
    const after = askFour();
    // Each of them has a permit or has none, while those of the other worker are still out.
    await expect.poll(() => arrived + countSeen(429), { timeout: 20_000 }).toBe(8);
    go();
    await Promise.all([before, after]);
    expect(countSeen("ECONNRESET")).toBe(arrived - 4);
    expect(countSeen("ECONNRESET")).toBeGreaterThan(0);
    expect(countSeen(200)).toBe(4);
    await upstream.close();
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
