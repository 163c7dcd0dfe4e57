import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const command = fileURLToPath(new URL("../../../bin/sluice.js", import.meta.url));

describe("output of the command", () => {
  it("that can't be written is a failure, and says why where it can", () => {
    // Every write to it fails as on a full disk.
    const full = openSync("/dev/full", "w");
    const run = (errors: "pipe" | number) =>
      spawnSync(process.execPath, [command, "--version"], {
        stdio: ["ignore", full, errors],
        encoding: "utf8",
      });
    const { status, stderr } = run("pipe");
    expect(stderr).toMatch(/^sluice: the output can't be written: ENOSPC.*\n$/);
    expect([status, run(full).status]).toEqual([2, 2]);
    closeSync(full);
  });

  it("whose reader is gone ends quietly", async () => {
    const child = spawn(process.execPath, [command, "--version"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    const [status, stderr] = await Promise.all([once(child, "close"), text(child.stderr)]);
    expect({ status, stderr }).toEqual({ status: [0, null], stderr: "" });
  });
});
