// Memory stays flat: a short version of the soak, over the built package as it is in `npm run soak`.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";

const REQUESTS = 100_000;
const SOAK = fileURLToPath(new URL("../soak/gateway-soak.mjs", import.meta.url));
const BUILT = fileURLToPath(new URL("../../dist/gateway/gateway.js", import.meta.url));

interface Soak {
  statuses: Record<string, number>;
  before: { heapUsed: number; arrayBuffers: number; external: number; places: number };
  after: { heapUsed: number; arrayBuffers: number; external: number; places: number };
  /** What the heap grew by, without the decisions that are sampled on purpose. */
  grownBytes: number;
}

describe(`${REQUESTS} requests of many kinds`, () => {
  let soak: Soak;

  beforeAll(async () => {
    if (!existsSync(BUILT)) throw new Error("the service is not built: run `npm run build`");
    const args = ["--expose-gc", SOAK, `${REQUESTS}`];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    soak = JSON.parse(stdout);
  });

  it("are all answered, by an upstream or by a limit, except where a client cut its connection", () => {
    const { 200: passed = 0, 429: refused = 0, ...others } = soak.statuses;
    expect(others).toEqual({});
    expect(passed + refused).toBeGreaterThan(0.99 * REQUESTS);
    expect(refused).toBeGreaterThan(0.09 * REQUESTS);
  });

  it("leave nothing behind in memory", () => {
    // Compiled code and statistics settle; 20 bytes for each request would be seen.
    expect(soak.grownBytes).toBeLessThan(20 * REQUESTS);
    expect(soak.after.external - soak.before.external).toBeLessThan(1_000_000);
    expect(soak.after.arrayBuffers - soak.before.arrayBuffers).toBeLessThan(1_000_000);
  });

  it("leave no place taken", () => {
    expect(soak.after.places).toBe(1_000);
  });
});
