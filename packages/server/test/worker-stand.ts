// Workers within this process: what a primary starts in tests, to be killed without a process.

import type { Config } from "../src/config/config.js";
import type { WorkerProcess } from "../src/workers/fork.js";
import { Worker } from "../src/workers/worker.js";
import { channelPair } from "./channel-pair.js";

/** A worker process that is none. */
export class StandWorker implements WorkerProcess {
  readonly pid: number;
  readonly #pair = channelPair();
  readonly channel = this.#pair.primary;
  readonly #exits: ((why: string) => void)[] = [];
  #hasExited = false;

  constructor(pid: number, start: (channel: typeof this.channel) => void) {
    this.pid = pid;
    start(this.#pair.worker);
  }

  /** How many messages it has sent to its primary. */
  get sentCount(): number {
    return this.#pair.counts[0];
  }

  onceExited(listener: (why: string) => void): void {
    this.#exits.push(listener);
  }

  kill(): void {
    this.exit("SIGKILL");
  }

  /** Ends it, as a process ends: the channel goes with it. */
  exit(why: string): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#pair.cut();
    for (const listener of this.#exits) listener(why);
  }
}

/** Starts real workers within this process; `started` has them all. */
export function standFork(config: Config) {
  const started: StandWorker[] = [];
  const fork = () => {
    const stand = new StandWorker(started.length + 1, (channel) => {
      const worker = new Worker(channel, () => config);
      void worker.start();
      void worker.ended.then((code) => stand.exit(`exit code ${code}`));
    });
    started.push(stand);
    return stand;
  };
  return { fork, started };
}
