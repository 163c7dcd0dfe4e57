// The place of one worker: a process that is started, and started again if it dies, later each time and
// not for ever.

import { after, type CancelTimer } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import {
  ASK_MS_MAX,
  type ListenerReport,
  START_MS_MAX,
  type WorkerStart,
} from "./control-messages.js";
import type { Fork, WorkerProcess } from "./fork.js";
import { Peer } from "./request-reply.js";

/** Deaths in a row after which a place is given up: the program, not chance, is at fault. */
export const RESTARTS_MAX = 10;
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 10_000;
/** A worker that lived so long has earned a fresh start. */
const SETTLED_MS = 60_000;

/** The end of a process that should have gone on. */
export interface Death {
  /** Of the process; undefined if it never had one. */
  readonly pid: number | undefined;
  readonly why: string;
  /** When the next process comes; undefined: never. */
  readonly nextMs: number | undefined;
}

/** What a place needs. */
export interface SlotOptions {
  readonly fork: Fork;
  /** Serves the store to a worker; called before it is asked anything. */
  readonly serve: (worker: WorkerProcess) => void;
  /** What a worker is told to start with, as it is now. */
  readonly toStart: () => WorkerStart;
  readonly nowMs: () => number;
  readonly onDied: (death: Death) => void;
  readonly onStarted?: (pid: number | undefined) => void;
}

interface Opened {
  readonly peer: Peer;
  /** What the worker was started with. */
  readonly start: WorkerStart;
  readonly listeners: readonly ListenerReport[];
}

/** The place of one worker. */
export class Slot {
  readonly #options: SlotOptions;
  #worker: WorkerProcess | undefined;
  #peer: Peer | undefined;
  #listeners: readonly ListenerReport[] = [];
  #deaths = 0;
  #isEnding = false;
  #cancelRestart: CancelTimer | undefined;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Whether its listeners are open. */
  get isOpen(): boolean {
    return this.#listeners.length > 0;
  }

  get listeners(): readonly ListenerReport[] {
    return this.#listeners;
  }

  /** Starts the process; rejects with what kept it from opening its listeners. */
  async start(): Promise<void> {
    const { fork, serve, nowMs, onStarted } = this.#options;
    const worker = fork();
    const startedMs = nowMs();
    this.#worker = worker;
    worker.onceExited((why) => this.#bury(worker, why, nowMs() - startedMs));
    serve(worker);
    try {
      const { peer, start, listeners } = await this.#untilOpen(worker);
      this.#peer = peer;
      this.#listeners = listeners;
      await this.#catchUp(peer, start);
      onStarted?.(worker.pid);
    } catch (error) {
      worker.kill();
      throw error;
    }
  }

  /** The worker speaks first: what it is told before it listens would be lost. */
  #untilOpen(worker: WorkerProcess): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const fail = (seen: string) => reject(new ServerError("SLUICE_WORKER_FAILED", seen));
      const cancel = after(START_MS_MAX, () => fail(`not started within ${START_MS_MAX} ms`));
      let start = this.#options.toStart();
      const peer = new Peer(worker.channels.control, {
        hello: () => {
          start = this.#options.toStart();
          return start;
        },
        opened: (listeners: readonly ListenerReport[]) => {
          cancel();
          resolve({ peer, start, listeners });
        },
        failed: (why: string) => fail(why),
      });
      worker.onceExited((why) => {
        cancel();
        fail(`it ended before its listeners were open: ${why}`);
      });
    });
  }

  /** Asks the worker, if there is one. */
  async ask(what: string, value: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#peer === undefined) {
      throw new ServerError("SLUICE_WORKER_FAILED", "it is not running");
    }
    return this.#peer.ask(what, value, timeoutMs);
  }

  /** From now on its end is no death, and a process that has not opened its listeners will not. */
  letGo(): void {
    this.#isEnding = true;
    this.#cancelRestart?.();
    // It has nothing to return.
    if (this.#peer === undefined) this.#worker?.kill();
  }

  /** Asks the process to end, and ends it if it has not within `timeoutMs`; resolves when it is gone. */
  async end(timeoutMs: number): Promise<void> {
    this.letGo();
    const worker = this.#worker;
    if (worker === undefined) return;
    await new Promise<void>((resolve) => {
      const cancel = after(timeoutMs, () => worker.kill());
      worker.onceExited(() => {
        cancel();
        resolve();
      });
      this.#peer?.ask("end", undefined, timeoutMs).catch(() => {});
    });
  }

  /** Tells what has changed since the worker was told to start. */
  async #catchUp(peer: Peer, start: WorkerStart): Promise<void> {
    const { rules, switches } = this.#options.toStart();
    if (rules !== start.rules) await peer.ask("rules", rules, ASK_MS_MAX);
    await peer.ask("switches", switches, ASK_MS_MAX);
  }

  #bury(worker: WorkerProcess, why: string, livedMs: number): void {
    if (this.#worker !== worker) return;
    const wasOpen = this.isOpen;
    this.#worker = undefined;
    this.#peer = undefined;
    this.#listeners = [];
    if (this.#isEnding) return;
    // One that never opened its listeners the first time is a failed start, which its starter is told.
    if (!wasOpen && this.#deaths === 0) return;
    this.#deaths = livedMs >= SETTLED_MS ? 1 : this.#deaths + 1;
    this.#restart({ pid: worker.pid, why });
  }

  #restart(death: Omit<Death, "nextMs">): void {
    const { onDied } = this.#options;
    if (this.#deaths > RESTARTS_MAX) {
      onDied({ ...death, nextMs: undefined });
      return;
    }
    const nextMs = Math.min(RESTART_MS_MIN * 2 ** (this.#deaths - 1), RESTART_MS_MAX);
    onDied({ ...death, nextMs });
    this.#cancelRestart = after(nextMs, () => {
      // What keeps it from starting shows in its death, which counts as any other.
      this.start().catch(() => {});
    });
  }
}
