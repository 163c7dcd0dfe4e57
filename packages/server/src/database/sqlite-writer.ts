// Writes groups of statements to an SQLite file in a thread of its own, so that the next group can be decided meanwhile.
// The thread is started by the first group, and has a connection of its own.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { ServerError, type ServerErrorCode } from "../base/errors.js";
import type { GroupStatement } from "./database.js";

/** What the thread answers to a group, in the order in which groups came. */
export type WriterAnswer =
  | { readonly isKept: boolean }
  | { readonly code: ServerErrorCode; readonly seen: string };

/** What the thread is started with. */
export interface WriterData {
  readonly path: string;
  /** How long another process may hold the file before a group fails. */
  readonly busyMsMax: number;
}

interface Waiting {
  resolve(isKept: boolean): void;
  reject(error: unknown): void;
}

const THREAD = fileURLToPath(new URL("./sqlite-writer-thread.js", import.meta.url));
/** False where the sources were not built: groups are then written where they are decided. */
export const hasWriterThread = existsSync(THREAD);

/** The thread, and the groups that it has. */
export class SqliteWriter {
  readonly #data: WriterData;
  #waiting: Waiting[] = [];
  #thread: Worker | undefined;

  constructor(data: WriterData) {
    this.#data = data;
  }

  /**
   * Runs statements in one transaction, after those of earlier calls. Resolves with whether they were kept.
   *
   * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` also if the thread ended, and may have run them.
   */
  runGroup(group: readonly GroupStatement[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start();
      this.#waiting.push({ resolve, reject });
      // Only a thread at work keeps the process alive.
      this.#thread.ref();
      this.#thread.postMessage(group);
    });
  }

  /** Ends the thread, after what it was given. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    // Who closes waits for it: an idle thread alone would let the process end first.
    thread.ref();
    thread.postMessage(undefined);
    await ended;
  }

  #start(): Worker {
    const thread = new Worker(THREAD, { workerData: this.#data });
    thread.on("message", (answer: WriterAnswer) => this.#settle(thread, answer));
    thread.on("error", (error) => this.#end(thread, String(error)));
    thread.on("exit", () => this.#end(thread, "no error was reported"));
    return thread;
  }

  #settle(thread: Worker, answer: WriterAnswer): void {
    // A late answer of a thread that has ended is about a group that was given up.
    if (thread !== this.#thread) return;
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0) thread.unref();
    if ("isKept" in answer) waiting?.resolve(answer.isKept);
    else waiting?.reject(new ServerError(answer.code, answer.seen));
  }

  /** The next group starts another thread. */
  #end(thread: Worker, why: string): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    const seen = `the thread that writes ${this.#data.path} stopped (${why}); what it was given may have been written`;
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen));
    }
  }
}
