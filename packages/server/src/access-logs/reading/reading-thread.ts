// The thread that reads the lines of logs; see reading-in-thread.ts, which starts it.

import { on, once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { loadFormat } from "../formats/load-format.js";
import { buffersOf } from "./line-batch.js";
import { type LogToRead, readPortions } from "./read-portions.js";
import { isOfFileSystem, readStoredLogInThread } from "./stored-log.js";
import type { Chunk, ForThread, FromThread, ThreadLog } from "./thread-messages.js";

/** Portions that may wait to be taken. */
const PORTIONS_AHEAD_MAX = 8;
/** Chunks that are asked for ahead. */
const CHUNKS_AHEAD = 4;

if (parentPort !== null) void readFor(parentPort, workerData as ForThread);

async function readFor(port: MessagePort, { logs, needs }: ForThread): Promise<void> {
  const post = (message: FromThread, buffers: ArrayBuffer[] = []) =>
    port.postMessage(message, buffers);
  let ahead = 0;
  port.on("message", () => ahead--);
  try {
    for await (const portion of readPortions(await Promise.all(logs.map(toLog)), needs)) {
      post(portion, portion.batches.flatMap(buffersOf));
      ahead++;
      while (ahead >= PORTIONS_AHEAD_MAX) await once(port, "message");
    }
    post("end");
  } catch (error) {
    if (!isOfFileSystem(error)) throw error;
    post({ failed: { ...(error as object) }, message: (error as Error).message });
  }
}

async function toLog({ name, format, from }: ThreadLog): Promise<LogToRead> {
  const loaded = await loadFormat(format.name, format.fields);
  return {
    name,
    format: { ...loaded, title: format.title },
    open: (onRead) =>
      "file" in from ? readStoredLogInThread(from.file, onRead) : readPassed(from.port),
  };
}

async function* readPassed(port: MessagePort): AsyncGenerator<Buffer> {
  for (let asked = 0; asked < CHUNKS_AHEAD; asked++) port.postMessage("next");
  for await (const [message] of on(port, "message")) {
    const chunk = message as Chunk;
    if (chunk === null) return;
    if ("damage" in chunk) throw new Error(chunk.damage);
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    port.postMessage("next");
  }
}
