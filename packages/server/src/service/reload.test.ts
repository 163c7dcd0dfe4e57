// What a reload reaches, and reloads that are requested while one runs.

import { describe, expect, it, vi } from "vitest";
import { toTestConfig } from "../../test/test-config.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { ConfigInForce } from "./config-in-force.js";
import { oneAtATime, type Reloaded, reloadAll } from "./reload.js";

describe("reloadAll", () => {
  it("reaches other processes though webhooks can't follow, and counts as failed until they can", async () => {
    const telemetry = silentTelemetry();
    const config = toTestConfig();
    const webhooks = { reload: vi.fn().mockRejectedValueOnce(new Error("ENOENT: ca.pem")) };
    const others = { haveRules: async () => {}, reload: vi.fn(async () => {}) };
    const inForce = new ConfigInForce(config, undefined, telemetry);
    const parts = { config: inForce, rules: { reload() {} }, listeners: [], webhooks, others };
    const reload = () => reloadAll(parts as unknown as Reloaded);
    const failed = async () => FAILED.exec(await telemetry.metrics())?.[1];
    await expect(reload()).rejects.toThrow("ENOENT: ca.pem");
    expect(others.reload).toHaveBeenCalledExactlyOnceWith(config);
    expect(await failed()).toBe("1");
    await reload();
    expect(others.reload).toHaveBeenCalledTimes(2);
    expect(await failed()).toBe("0");
  });
});

const FAILED = /^rate_limiter_reload_failed\{.*what="config".*\} (\d)$/m;

describe("oneAtATime", () => {
  it("joins all calls during a run into the one run after it", async () => {
    const ends: (() => void)[] = [];
    const run = oneAtATime(() => new Promise<void>((resolve) => ends.push(resolve)));
    const first = run();
    const [second, third] = [run(), run()];
    expect(ends).toHaveLength(1);
    ends[0]();
    await first;
    await expect.poll(() => ends.length).toBe(2);
    ends[1]();
    await Promise.all([second, third]);
    expect(ends).toHaveLength(2);
  });

  it("runs again after a run that failed", async () => {
    let runs = 0;
    const run = oneAtATime(async () => {
      runs++;
      if (runs === 1) throw new Error("bad file");
    });
    const [first, second] = [run(), run()];
    await expect(first).rejects.toThrow("bad file");
    await second;
    expect(runs).toBe(2);
  });
});
