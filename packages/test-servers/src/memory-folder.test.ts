import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { chooseTemporaryFolder, type MemoryFolder } from "./memory-folder.js";

const GIB = 2 ** 30;

const roomy: MemoryFolder = {
  path: "/memory",
  freeBytes: () => 4 * GIB,
  memoryInfo: () =>
    `MemTotal: ${8 * 2 ** 20} kB\nMemAvailable:    ${4 * 2 ** 20} kB\nBuffers: 1 kB\n`,
  mounts: () => "/dev/vda / ext4 rw 0 0\ntmpfs /memory tmpfs rw,nosuid,nodev 0 0\n",
};

describe("the temporary folder of a test run", () => {
  it("is in memory where there is room", () => {
    expect(chooseTemporaryFolder(roomy)).toBe("/memory");
  });

  it.each<[string, Partial<MemoryFolder>]>([
    ["the folder is small", { freeBytes: () => 4 * GIB - 1 }],
    ["memory is short", { memoryInfo: () => `MemAvailable: ${4 * 2 ** 20 - 1} kB\n` }],
    ["what is free is not known", { memoryInfo: () => "MemTotal: 99999999 kB\n" }],
    ["programs in it may not run", { mounts: () => "tmpfs /memory tmpfs rw,noexec 0 0\n" }],
    [
      "another file system was mounted over it, whose programs may not run",
      { mounts: () => `${roomy.mounts()}tmpfs /memory tmpfs rw,noexec 0 0\n` },
    ],
    ["it is a folder of the disk", { mounts: () => "/dev/vda / ext4 rw 0 0\n" }],
    [
      "there is none",
      {
        freeBytes: () => {
          throw new Error("ENOENT");
        },
      },
    ],
  ])("is the usual one if %s", (_, change) => {
    expect(chooseTemporaryFolder({ ...roomy, ...change })).toBe(tmpdir());
  });
});
