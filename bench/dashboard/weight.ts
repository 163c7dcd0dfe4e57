// What the first load of the dashboard weighs, compressed as it is sent. The pages beside Live, the editor and the
// playground load on demand.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench } from "../bench.js";
import { firstLoadOf, type LoadedFile } from "./first-load.js";

export const dashboardWeight: Bench<readonly LoadedFile[]> = {
  id: "dashboard/weight",
  unit: "kB",
  bound: { is: "at most", bar: 150, goal: 60 },
  parts: ["all"],
  runPart: weigh,
  conclude: ([files]) => [
    {
      subject: "first load of the dashboard, gzip",
      value: files.reduce((sum, { bytes }) => sum + bytes, 0) / 1_000,
      note: files.map(({ name, bytes }) => `${kindOf(name)} ${toKb(bytes)}`).join(", "),
    },
  ],
};

function weigh(): readonly LoadedFile[] {
  const outDir = mkdtempSync(join(tmpdir(), "sluice-dashboard-"));
  try {
    const args = ["vite", "build", "packages/dashboard", "--logLevel", "error", "--outDir", outDir];
    execFileSync("npx", args, { stdio: ["ignore", "ignore", "inherit"] });
    return firstLoadOf(outDir);
  } finally {
    rmSync(outDir, { recursive: true });
  }
}

/** Without the hash, which says nothing. */
function kindOf(name: string): string {
  return name.replace(/^assets\//, "").replace(/-[\w-]{8}(?=\.\w+$)/, "");
}

function toKb(bytes: number): string {
  return (bytes / 1_000).toFixed(1);
}
