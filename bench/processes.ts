// Runs each part of a benchmark in its own process and returns what it reports. What a part prints goes to stderr:
// stdout is for the results.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Bench, type Result, toResult } from "./bench.js";
import { isQuick } from "./effort.js";

const partPath = fileURLToPath(new URL("part.js", import.meta.url));

/** Runs the parts of a benchmark, one after the other, and draws its conclusion. */
export async function runBench(bench: Bench): Promise<Result[]> {
  const reports: unknown[] = [];
  for (const part of bench.parts) reports.push(await runPart(bench, part));
  return bench.conclude(reports).map((finding) => toResult(bench, finding));
}

function runPart(bench: Bench, part: string): Promise<unknown> {
  const heap = bench.heapMbMax === undefined ? [] : [`--max-old-space-size=${bench.heapMbMax}`];
  const child = fork(partPath, [bench.id, part, ...(isQuick ? ["--quick"] : [])], {
    execArgv: ["--expose-gc", ...heap],
    serialization: "advanced",
    stdio: ["ignore", 2, 2, "ipc"],
  });
  return new Promise((resolve, reject) => {
    let report: unknown;
    child.on("message", (message) => {
      report = message;
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (code === 0) resolve(report);
      else reject(new Error(`${bench.id} (${part}) ended with ${signal ?? code}`));
    });
  });
}
