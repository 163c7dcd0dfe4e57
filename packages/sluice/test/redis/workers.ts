// Processes that share a limit, as the servers of one service do: forked once and used again by all
// tests of a file, and given commands over IPC.

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What a burst of checks came to. */
export interface Burst {
  readonly admitted: number;
  readonly sources: readonly string[];
  /** The shortest and the longest wait of those that were refused. */
  readonly retryAfterMsMin: number;
  readonly retryAfterMsMax: number;
}

interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly failure?: string;
}

interface Waiter {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

const workerPath = fileURLToPath(new URL("./worker.mjs", import.meta.url));
const wrongClockUrl = new URL("./wrong-clock.mjs", import.meta.url).href;

/** One forked process. A verb that it can't answer, because it ended or erred, is a rejection. */
export class Worker {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiter>();
  #count = 0;

  /** @param wrongByMs - How far its wall clock is off; default 0. */
  constructor(wrongByMs = 0) {
    this.#process = fork(workerPath, {
      execArgv: wrongByMs === 0 ? [] : ["--import", wrongClockUrl],
      env: { ...process.env, WRONG_CLOCK_MS: String(wrongByMs) },
    });
    this.#process.on("message", (reply: Reply) => this.#take(reply));
    this.#process.on("exit", (code, signal) => this.#lose(`it ended with ${signal ?? code}`));
  }

  /** Has the process do something and returns its answer. */
  call<T = void>(verb: string, input: object = {}): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const id = this.#count++;
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, verb, input });
    }) as Promise<T>;
  }

  /** Kills the process (SIGKILL) and waits for its end: it has no last word. */
  kill(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) return resolve();
      this.#process.once("exit", () => resolve());
      this.#process.kill("SIGKILL");
    });
  }

  #take({ id, answer, failure }: Reply): void {
    const waiter = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failure === undefined) waiter?.resolve(answer);
    else waiter?.reject(new Error(`in the worker: ${failure}`));
  }

  #lose(why: string): void {
    for (const waiter of this.#waiting.values()) waiter.reject(new Error(`lost a worker: ${why}`));
    this.#waiting.clear();
  }
}

/** Starts processes whose clocks are off by this many milliseconds each. */
export function startWorkers(wrongByMs: readonly number[]): readonly Worker[] {
  return wrongByMs.map((ms) => new Worker(ms));
}

/** Has all processes do the same at the same time. */
export function callAll<T = void>(
  workers: readonly Worker[],
  verb: string,
  input: object = {},
): Promise<T[]> {
  return Promise.all(workers.map((worker) => worker.call<T>(verb, input)));
}

/** Kills all of them. */
export async function killAll(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.kill()));
}

/** How many of all bursts were admitted. */
export function totalOf(bursts: readonly Burst[]): number {
  return bursts.reduce((total, { admitted }) => total + admitted, 0);
}
