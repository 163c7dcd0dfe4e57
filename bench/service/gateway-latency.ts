// What the gateway adds to the time of a request at a tenth of the rate that it can carry: the slowest of a
// hundred requests through it, minus the slowest of a hundred straight to the upstream, sent at the same pace in
// turns.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";
import { askProxy, LOAD_CPU, startProxies } from "./proxies-load.js";
import type { Pace, Waits } from "./proxies-pace.js";

const ROUNDS = effort({ full: 7, quick: 1 });
const ROUND_SECONDS = effort({ full: 3, quick: 1 });
const PEAK_SECONDS = effort({ full: 3, quick: 1 });
/** The share of its capacity that it is loaded with. */
const LOAD_SHARE = 0.1;

interface Report {
  readonly perSec: number;
  readonly through: readonly Waits[];
  readonly straight: readonly Waits[];
}

export const gatewayLatency: Bench<Report> = {
  id: "service/latency",
  unit: "ms",
  bound: { is: "below", goal: 1 },
  parts: ["all"],
  runPart: measure,
  conclude: ([{ perSec, through, straight }]) => {
    const added = (of: keyof Waits) =>
      through.map((waits, round) => waits[of] - straight[round][of]);
    const note = `at ${Math.round(perSec)} requests/s`;
    return [
      { subject: "p99 that the gateway adds", ...summarise(added("p99")), note },
      { subject: "p50", ...summarise(added("p50")), note, isJudged: false },
      { subject: "p999", ...summarise(added("p999")), note: "goal < 5 ms", isJudged: false },
    ];
  },
};

async function measure(): Promise<Report> {
  const { proxies, upstream, stop } = await startProxies(["gateway"]);
  try {
    await askProxy(proxies[0], PEAK_SECONDS);
    const perSec = LOAD_SHARE * (await askProxy(proxies[0], PEAK_SECONDS));
    const through: Waits[] = [];
    const straight: Waits[] = [];
    for (let round = -1; round < ROUNDS; round++) {
      const waits = await pace(proxies[0].port, { perSec, seconds: ROUND_SECONDS });
      const floor = await pace(upstream.port, { perSec, seconds: ROUND_SECONDS });
      if (round < 0) continue;
      through.push(waits);
      straight.push(floor);
    }
    return { perSec, through, straight };
  } finally {
    stop();
  }
}

async function pace(port: number, asked: Pace): Promise<Waits> {
  const script = fileURLToPath(new URL("proxies-pace.js", import.meta.url));
  const args = ["-c", LOAD_CPU, process.execPath, script, `${port}`];
  const child = spawn("taskset", args, { stdio: ["ignore", 2, 2, "ipc"] });
  try {
    // The first second finds the code cold, and counts for nothing.
    child.send({ ...asked, seconds: 1 });
    await once(child, "message");
    child.send(asked);
    const [waits] = await once(child, "message");
    return waits as Waits;
  } finally {
    child.disconnect();
  }
}
