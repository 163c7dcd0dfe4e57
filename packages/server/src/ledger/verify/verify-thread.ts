// A thread that verifies ranges of accounts, one after the other, over a connection of its own.

import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "../../database/open-database.js";
import { Findings } from "./report.js";
import type { ThreadData } from "./verify-in-threads.js";
import { type IdRange, RangeVerifier } from "./verify-range.js";

const { url, listedMax } = workerData as ThreadData;
const database = openDatabase(url, "/");

parentPort?.on("message", async (range: IdRange) => {
  try {
    const findings = new Findings(listedMax);
    await new RangeVerifier(database, findings).run(range);
    parentPort?.postMessage({ report: findings.toReport() });
  } catch (error) {
    parentPort?.postMessage({ error });
  }
});
