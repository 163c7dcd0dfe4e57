// Eventual consistency in four processes: how much more than the limit they admit together, under
// steady traffic of twice the limit. A token bucket may admit its capacity on top of its rate once, at
// the start; so two shares are taken, and the larger one is the figure: all that was admitted over
// capacity + rate × time, and what was admitted after the first burst over rate × time alone.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RedisProcess } from "sluice-test-servers";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { median, summarise } from "../harness.js";
import { excessOf } from "./admissions.js";
import type { NodeReport, Orders } from "./eventual-node.js";
import { withRedis } from "./server.js";

const NODES = 4;
const LIMIT_PER_SEC = 1000;
const ASKED_PER_SEC = 2000;
const SYNC_MS = 100;
const RUN_MS = effort({ full: 10_000, quick: 3_000 });
// At a net drain of 1,000 a second the bucket's capacity of 1,000 is gone after one second.
const BURST_MS = 2000;
// Time for the processes to come up and connect.
const LEAD_MS = effort({ full: 3000, quick: 2000 });
const BUCKET_RUNS = effort({
  full: ["bucket 1", "bucket 2", "bucket 3"],
  quick: ["bucket 1"],
});

/** What four processes did in one run. */
interface Run {
  readonly asked: number;
  readonly admitted: number;
  /** All that was admitted over what the limit allows in that time, a full bucket included. */
  readonly wholeShare: number;
  /** What was admitted after the first burst over rate × time. */
  readonly steadyShare: number;
  /** The most units that any interval had above capacity + rate × its length. */
  readonly excessMax: number;
  /** What `overshootMax` declares. */
  readonly declaredMax: number;
  readonly syncs: number;
  readonly failures: number;
}

const nodePath = fileURLToPath(new URL("eventual-node.js", import.meta.url));

export const eventual: Bench<Run> = {
  id: "redis/eventual",
  unit: "ratio",
  bound: { is: "at most", bar: 1.05, goal: 1.01 },
  parts: [...BUCKET_RUNS, "window"],
  runPart: (part) => withRedis((redis) => runNodes(redis, part === "window" ? part : "bucket")),
  conclude: (runs) => [
    toFinding("tokenBucket", runs.slice(0, BUCKET_RUNS.length)),
    { ...toFinding("fixedWindow", runs.slice(BUCKET_RUNS.length)), isJudged: false },
  ],
};

async function runNodes(redis: RedisProcess, algorithm: Orders["algorithm"]): Promise<Run> {
  // On a whole second, where a window begins.
  const startAtMs = Math.ceil((Date.now() + LEAD_MS) / 1000) * 1000;
  const orders: Orders = {
    host: redis.host,
    port: redis.port,
    algorithm,
    limitPerSec: LIMIT_PER_SEC,
    syncMs: SYNC_MS,
    nodes: NODES,
    startAtMs,
    endAtMs: startAtMs + RUN_MS,
    askedPerSec: ASKED_PER_SEC / NODES,
  };
  const reports = await Promise.all(Array.from({ length: NODES }, () => runNode(orders)));
  return judge(orders, reports);
}

async function runNode(orders: Orders): Promise<NodeReport> {
  const child = fork(nodePath, { serialization: "advanced", stdio: ["ignore", 2, 2, "ipc"] });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`a process of redis/eventual ended with ${code} and no report`);
  });
  const reported = once(child, "message").then(([report]) => report as NodeReport);
  child.send(orders);
  return Promise.race([reported, ended]);
}

function judge({ algorithm, startAtMs }: Orders, reports: readonly NodeReport[]): Run {
  const atMs = reports.flatMap(({ admittedAtMs }) => admittedAtMs).toSorted((a, b) => a - b);
  const sum = (of: (report: NodeReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const capacity = algorithm === "bucket" ? LIMIT_PER_SEC : 0;
  const steady = atMs.filter((ms) => ms >= startAtMs + BURST_MS).length;
  return {
    asked: sum(({ asked }) => asked),
    admitted: atMs.length,
    wholeShare: atMs.length / (capacity + unitsIn(RUN_MS)),
    steadyShare: steady / unitsIn(RUN_MS - BURST_MS),
    excessMax: excessOf(atMs, { capacity: LIMIT_PER_SEC, perSec: LIMIT_PER_SEC }),
    declaredMax: Math.max(...reports.map(({ overshootMax }) => overshootMax)),
    syncs: sum(({ stats }) => stats.syncs),
    failures: sum(({ stats }) => stats.failures),
  };
}

function unitsIn(ms: number): number {
  return (ms * LIMIT_PER_SEC) / 1000;
}

function toFinding(algorithm: string, runs: readonly Run[]): Finding {
  const shares = runs.map(({ wholeShare, steadyShare }) => Math.max(wholeShare, steadyShare));
  const { value, spread } = summarise(shares);
  return {
    subject: `sluice ${algorithm}, eventual, ${NODES} processes, ${LIMIT_PER_SEC}/s, syncMs ${SYNC_MS}`,
    reference: "the limit",
    ratio: value,
    value,
    spread,
    note: describe(runs),
  };
}

function describe(runs: readonly Run[]): string {
  const middle = (of: (run: Run) => number) => median(runs.map(of));
  const whole = middle(({ wholeShare }) => wholeShare).toFixed(4);
  const steady = middle(({ steadyShare }) => steadyShare).toFixed(4);
  const [admitted, asked] = [middle((run) => run.admitted), middle((run) => run.asked)];
  const excess = Math.round(Math.max(...runs.map(({ excessMax }) => excessMax)));
  const declared = Math.round(middle(({ declaredMax }) => declaredMax));
  const [syncs, failures] = [middle((run) => run.syncs), middle((run) => run.failures)];
  return [
    `whole run ${whole}, from second ${BURST_MS / 1000} on ${steady}`,
    `admitted ${admitted} of ${asked}`,
    `worst interval ${excess} above ${LIMIT_PER_SEC} + rate × time, ${declared} declared`,
    `${syncs} syncs, ${failures} failed`,
  ].join("; ");
}
