// One worker, supervised by the primary: its process is started, and started again if it exits, with a growing
// delay and a bounded number of times.

import { formatDuration } from "sluice/shapes";
import { after, type CancelTimer } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import {
  ASK_MS_MAX,
  type ListenerAddress,
  START_MS_MAX,
  type WorkerStart,
} from "./channel/control-messages.js";
import { RequestChannel, type RequestHandlers } from "./channel/request-channel.js";
import type { Fork, WorkerProcess } from "./fork.js";

/** Exits in a row after which the worker is not restarted: the program is at fault, not bad luck. */
export const RESTARTS_MAX = 10;
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 10_000;
/** After a run of this length, earlier exits no longer count. */
const SETTLED_MS = 60_000;

/** The unexpected exit of a worker process. */
export interface WorkerExit {
  /** The process id; undefined if the process never started. */
  readonly pid: number | undefined;
  readonly why: string;
  /** The delay until the next process starts; undefined if none will. */
  readonly nextMs: number | undefined;
}

/** Options of {@link SupervisedWorker}. */
export interface SupervisedWorkerOptions {
  readonly fork: Fork;
  /** Serves the store to a worker. Called before the first request to it. */
  readonly serve: (worker: WorkerProcess) => void;
  /** Answers to further requests of a worker. Default: none. */
  readonly handlers?: RequestHandlers | undefined;
  /** What a worker starts with now. */
  readonly toStart: () => WorkerStart;
  readonly nowMs: () => number;
  readonly onExited: (exit: WorkerExit) => void;
  readonly onStarted?: (pid: number | undefined) => void;
}

interface Opened {
  readonly channel: RequestChannel;
  /** What the worker was started with. */
  readonly start: WorkerStart;
  readonly listeners: readonly ListenerAddress[];
}

/** A worker process that is restarted when it exits. */
export class SupervisedWorker {
  readonly #options: SupervisedWorkerOptions;
  #worker: WorkerProcess | undefined;
  #channel: RequestChannel | undefined;
  #listeners: readonly ListenerAddress[] = [];
  #exitCount = 0;
  #isEnding = false;
  #cancelRestart: CancelTimer | undefined;

  constructor(options: SupervisedWorkerOptions) {
    this.#options = options;
  }

  /** Whether its listeners are open. */
  get isOpen(): boolean {
    return this.#listeners.length > 0;
  }

  get listeners(): readonly ListenerAddress[] {
    return this.#listeners;
  }

  /** Starts the process. Rejects with the reason if its listeners can't be opened. */
  async start(): Promise<void> {
    const { fork, serve, nowMs, onStarted } = this.#options;
    const worker = fork();
    const startedMs = nowMs();
    this.#worker = worker;
    worker.onceExited((why) => this.#handleExit(worker, why, nowMs() - startedMs));
    serve(worker);
    try {
      const { channel, start, listeners } = await this.#untilOpen(worker);
      this.#channel = channel;
      this.#listeners = listeners;
      await this.#catchUp(channel, start);
      onStarted?.(worker.pid);
    } catch (error) {
      worker.kill();
      throw error;
    }
  }

  /** The worker sends first, because a message to it would be lost until it listens. */
  #untilOpen(worker: WorkerProcess): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const fail = (seen: string) => reject(new ServerError("SLUICE_WORKER_FAILED", seen));
      const cancel = after(START_MS_MAX, () =>
        fail(`it did not open its listeners within ${formatDuration(START_MS_MAX)}`),
      );
      let start = this.#options.toStart();
      const channel = new RequestChannel(worker.channels.control, {
        ...this.#options.handlers,
        hello: () => {
          start = this.#options.toStart();
          return start;
        },
        opened: (listeners: readonly ListenerAddress[]) => {
          cancel();
          resolve({ channel, start, listeners });
        },
        failed: (why: string) => fail(why),
      });
      worker.onceExited((why) => {
        cancel();
        fail(`it exited before its listeners were open: ${why}`);
      });
    });
  }

  /** Asks the worker, if there is one. */
  async ask(what: string, value: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#channel === undefined) {
      throw new ServerError("SLUICE_WORKER_FAILED", "it is not running");
    }
    return this.#channel.ask(what, value, timeoutMs);
  }

  /** From now on an exit is expected and starts no other process. A process that is still starting is killed. */
  stopRestarting(): void {
    this.#isEnding = true;
    this.#cancelRestart?.();
    // It holds no leases yet.
    if (this.#channel === undefined) this.#worker?.kill();
  }

  /** Asks the process to end, and ends it if it has not within `timeoutMs`; resolves when it is gone. */
  async end(timeoutMs: number): Promise<void> {
    this.stopRestarting();
    const worker = this.#worker;
    if (worker === undefined) return;
    await new Promise<void>((resolve) => {
      const cancel = after(timeoutMs, () => worker.kill());
      worker.onceExited(() => {
        cancel();
        resolve();
      });
      this.#channel?.ask("end", undefined, timeoutMs).catch(() => {});
    });
  }

  /** Sends what has changed since the worker got its start message. */
  async #catchUp(channel: RequestChannel, start: WorkerStart): Promise<void> {
    const { rules, switches } = this.#options.toStart();
    if (rules !== start.rules) await channel.ask("rules", rules, ASK_MS_MAX);
    await channel.ask("switches", switches, ASK_MS_MAX);
    if (this.#options.handlers !== undefined) await channel.ask("control", undefined, ASK_MS_MAX);
  }

  #handleExit(worker: WorkerProcess, why: string, livedMs: number): void {
    if (this.#worker !== worker) return;
    const wasOpen = this.isOpen;
    this.#worker = undefined;
    this.#channel = undefined;
    this.#listeners = [];
    if (this.#isEnding) return;
    // An exit before the listeners were first open is a failed start, and rejects `start`.
    if (!wasOpen && this.#exitCount === 0) return;
    this.#exitCount = livedMs >= SETTLED_MS ? 1 : this.#exitCount + 1;
    this.#restart({ pid: worker.pid, why });
  }

  #restart(exit: Omit<WorkerExit, "nextMs">): void {
    const { onExited } = this.#options;
    if (this.#exitCount > RESTARTS_MAX) {
      onExited({ ...exit, nextMs: undefined });
      return;
    }
    const nextMs = Math.min(RESTART_MS_MIN * 2 ** (this.#exitCount - 1), RESTART_MS_MAX);
    onExited({ ...exit, nextMs });
    this.#cancelRestart = after(nextMs, () => {
      // A failed start ends in an exit, which is counted like any other.
      this.start().catch(() => {});
    });
  }
}
