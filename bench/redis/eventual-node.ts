// One of the processes that share a limit in redis/eventual. It sends its share of the traffic evenly, and reports
// what was admitted and when. It has its own clock, store and connection.

import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { createLimiter, type EventualStats, eventual, fixedWindow, tokenBucket } from "sluice";
import { redisStore } from "sluice/redis";
import { connect } from "./server.js";

/** What the parent sends to a process. Times are Unix milliseconds: all are on one machine. */
export interface Orders {
  readonly host: string;
  readonly port: number;
  readonly algorithm: "bucket" | "window";
  readonly limitPerSec: number;
  readonly syncMs: number;
  readonly nodes: number;
  readonly startAtMs: number;
  readonly endAtMs: number;
  readonly askedPerSec: number;
}

/** What it reports. */
export interface NodeReport {
  readonly asked: number;
  readonly admittedAtMs: readonly number[];
  readonly overshootMax: number;
  readonly stats: EventualStats;
}

const TICK_MS = 1;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const [orders] = (await once(process, "message")) as [Orders];
  const report = await obey(orders);
  process.send(report, undefined, undefined, () => process.exit(0));
}

async function obey(orders: Orders): Promise<NodeReport> {
  const { limitPerSec, syncMs, nodes } = orders;
  const store = eventual(redisStore(await connect(orders)), { syncMs, nodes });
  const limit =
    orders.algorithm === "bucket"
      ? tokenBucket({ capacity: limitPerSec, refillPerSecond: limitPerSec })
      : fixedWindow({ limit: limitPerSec, windowMs: 1000 });
  const limiter = createLimiter({ limit, store });
  await setTimeout(orders.startAtMs - Date.now());
  const admittedAtMs: number[] = [];
  let asked = 0;
  for (let nowMs = Date.now(); nowMs < orders.endAtMs; nowMs = Date.now()) {
    const due = Math.floor(((nowMs - orders.startAtMs) * orders.askedPerSec) / 1000);
    for (; asked < due; asked++) {
      if ((await limiter.check("everybody")).allowed) admittedAtMs.push(nowMs);
    }
    await setTimeout(TICK_MS);
  }
  const overshootMax = store.overshootMax(limit);
  const { stats } = store;
  await store.close();
  return { asked, admittedAtMs, overshootMax, stats };
}
