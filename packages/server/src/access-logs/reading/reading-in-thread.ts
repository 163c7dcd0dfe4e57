// Reads the lines of logs in a thread of their own, while the requests of the lines before them are decided. The thread
// opens files by itself; what can be read only here, such as the standard input, is passed on to it chunk by chunk.

import { on } from "node:events";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { EntryNeeds } from "../log-entry.js";
import type { LogPortion } from "./log-portion.js";
import type { LogSource } from "./log-source.js";
import { isOfFileSystem } from "./stored-log.js";
import type { Chunk, ForThread, FromThread, ThreadLog } from "./thread-messages.js";

const THREAD = fileURLToPath(new URL("./reading-thread.js", import.meta.url));
/** Without a build there is no thread to start, and with one processor nothing to gain. */
const hasThread = existsSync(THREAD) && availableParallelism() > 1;

/** From how many bytes on logs are read in a thread: starting one takes longer than reading fewer. */
const THREAD_BYTES_MIN = 4_000_000;
/** The thread makes nothing that lives long but dictionaries. */
const MEMORY = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 };

/** Whether logs are long enough to be read in a thread, or may be. */
export function isForThread(sources: readonly LogSource[]): boolean {
  const bytes = sources.reduce((sum, { sizeBytes = THREAD_BYTES_MIN }) => sum + sizeBytes, 0);
  return hasThread && bytes >= THREAD_BYTES_MIN;
}

/** Reads logs to their ends, as `readPortions` does. The thread ends when its consumer does. */
export async function* readInThread(
  sources: readonly LogSource[],
  needs: EntryNeeds,
): AsyncGenerator<LogPortion> {
  const passed = new PassedLogs();
  const logs = sources.map((source) => toThreadLog(source, passed));
  const workerData: ForThread = { logs, needs };
  const transferList = logs.flatMap(({ from }) => ("port" in from ? [from.port] : []));
  // Options of this process, such as the input type of a program in them, are not meant for the thread.
  const options = { execArgv: [], resourceLimits: MEMORY };
  const thread = new Worker(THREAD, { ...options, workerData, transferList });
  passed.onFailure = () => void thread.terminate();
  try {
    for await (const [message] of on(thread, "message", { close: ["exit"] })) {
      const answer = message as FromThread;
      if (answer === "end") return;
      if ("failed" in answer) throw Object.assign(new Error(answer.message), answer.failed);
      yield { ...answer, storedBytes: answer.storedBytes + passed.takeStoredBytes() };
      thread.postMessage("more");
    }
    throw passed.failure ?? new Error("the thread that reads logs ended early");
  } finally {
    passed.close();
    await thread.terminate();
  }
}

function toThreadLog({ name, format, file, open }: LogSource, passed: PassedLogs): ThreadLog {
  const from = file === undefined ? { port: passed.pass(open) } : { file };
  const { name: formatName, title, fields } = format;
  return { name, format: { name: formatName, title, fields }, from };
}

/** Logs that are read here, when the thread asks for their chunks. */
class PassedLogs {
  /** An error of the file system, which no log survives. */
  failure: unknown;
  onFailure = (): void => {};
  readonly #ports: MessagePort[] = [];
  #storedBytes = 0;

  /** Returns the port at which the thread asks. */
  pass(open: LogSource["open"]): MessagePort {
    const { port1: here, port2: there } = new MessageChannel();
    let chunks: AsyncIterator<Buffer> | undefined;
    let turn = Promise.resolve();
    here.on("message", () => {
      chunks ??= open((bytes) => {
        this.#storedBytes += bytes;
      })[Symbol.asyncIterator]();
      const all = chunks;
      turn = turn.then(() => passNext(all, here)).catch((error) => this.#fail(error, here));
    });
    this.#ports.push(here);
    return there;
  }

  /** Bytes that were read since they were asked for. */
  takeStoredBytes(): number {
    const bytes = this.#storedBytes;
    this.#storedBytes = 0;
    return bytes;
  }

  close(): void {
    for (const port of this.#ports) port.close();
  }

  #fail(error: unknown, port: MessagePort): void {
    if (!isOfFileSystem(error)) {
      port.postMessage({ damage: (error as Error).message } satisfies Chunk);
      return;
    }
    this.failure = error;
    this.onFailure();
  }
}

async function passNext(chunks: AsyncIterator<Buffer>, port: MessagePort): Promise<void> {
  const { value, done } = await chunks.next();
  if (done === true) return port.postMessage(null satisfies Chunk);
  // A copy, since a chunk may be a small part of a buffer, all of which would be passed on.
  const chunk = Uint8Array.from(value as Buffer);
  port.postMessage(chunk satisfies Chunk, [chunk.buffer]);
}
