// Workers within this process: what a primary starts in tests, to be killed without a process.

import type { Config } from "../src/config/config.js";
import type { Channels } from "../src/workers/channel/channel.js";
import type { WorkerProcess } from "../src/workers/fork.js";
import { Worker } from "../src/workers/worker/worker.js";
import { channelPair } from "./channel-pair.js";

/** A stand-in for a worker process. */
export class FakeWorker implements WorkerProcess {
  readonly pid: number;
  readonly #control = channelPair();
  readonly #store = channelPair<string>();
  readonly channels: Channels = { control: this.#control.primary, store: this.#store.primary };
  readonly #exits: ((why: string) => void)[] = [];
  #hasExited = false;

  constructor(pid: number, start: (channels: Channels) => void) {
    this.pid = pid;
    start({ control: this.#control.worker, store: this.#store.worker });
  }

  /** How many messages it has sent to the store of its primary. */
  get sentCount(): number {
    return this.#store.counts[0];
  }

  onceExited(listener: (why: string) => void): void {
    this.#exits.push(listener);
  }

  kill(): void {
    this.exit("SIGKILL");
  }

  /** Ends it, as a process ends: its channels go with it. */
  exit(why: string): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#control.cut();
    this.#store.cut();
    for (const listener of this.#exits) listener(why);
  }
}

/** Starts real workers within this process; `started` has them all. */
export function fakeFork(config: Config) {
  const started: FakeWorker[] = [];
  const fork = () => {
    const fixture = new FakeWorker(started.length + 1, (channels) => {
      const worker = new Worker(channels, () => config);
      void worker.start();
      void worker.ended.then((code) => fixture.exit(`exit code ${code}`));
    });
    started.push(fixture);
    return fixture;
  };
  return { fork, started };
}
