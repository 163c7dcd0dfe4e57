// Loaded into a process with `node --import`: notes every turn of its event loop that took long, as one JSON line in a
// file of its own in the folder STALL_FOLDER. A busy machine makes any turn long, so it also notes how long the thread
// really ran, as Linux counts it.

import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const folder = process.env.STALL_FOLDER;
const NOTED_MS_MIN = 20;
/** How often it looks. Each look reads a file of the system, in every process. */
const PROBE_MS = 5;

/** How long this thread has run so far, in milliseconds; undefined where the system does not say. */
function readRunMs() {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}

if (folder !== undefined && isMainThread) {
  const file = join(folder, `${process.pid}.stalls`);
  let lastMs = performance.now();
  let lastRunMs = readRunMs();
  setInterval(() => {
    const [nowMs, runMs] = [performance.now(), readRunMs()];
    const tookMs = nowMs - lastMs;
    const ranMs = runMs === undefined ? tookMs : runMs - lastRunMs;
    if (ranMs > NOTED_MS_MIN) {
      appendFileSync(file, `${JSON.stringify({ atMs: Date.now(), tookMs, ranMs })}\n`);
    }
    [lastMs, lastRunMs] = [performance.now(), readRunMs()];
  }, PROBE_MS).unref();
}
