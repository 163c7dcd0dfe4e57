// Runs this process as a worker. The primary handles the signals, and the worker ends with it.

import { ServerError } from "../../base/errors.js";
import type { Config } from "../../config/config.js";
import { parseConfig } from "../../config/load.js";
import type { WorkerStart } from "../channel/control-messages.js";
import { primaryChannels } from "../fork.js";
import { Worker } from "./worker.js";

/** A terminal and systemd send these to every process; the primary drains and reloads its workers itself. */
const SIGNALS_OF_THE_PRIMARY = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Runs this process as a worker. Resolves with the exit code when the worker has ended.
 *
 * @param config - Default: that of the file which the primary started with.
 */
export async function runWorker(config?: Config): Promise<number> {
  const ignore = () => {};
  for (const signal of SIGNALS_OF_THE_PRIMARY) process.on(signal, ignore);
  const worker = new Worker(primaryChannels(), (start) => config ?? toConfig(start));
  process.on("uncaughtException", (error) => {
    worker.logUncaught(error);
    process.exit(1);
  });
  await worker.start();
  const code = await worker.ended;
  // Without a channel nothing keeps the process alive.
  if (process.connected) process.disconnect();
  return code;
}

/** The configuration as the primary read it: a file that is broken by now must not prevent a restart. */
function toConfig({ config }: WorkerStart): Config {
  if (config === undefined) {
    throw new ServerError("SLUICE_WORKER_FAILED", "it got no configuration from the primary");
  }
  return parseConfig(config.text, { file: config.file, env: process.env });
}
