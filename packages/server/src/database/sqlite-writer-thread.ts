// The thread that writes groups of statements to an SQLite file. A message is a group; undefined ends it.

import { parentPort, workerData } from "node:worker_threads";
import { ServerError } from "../base/errors.js";
import type { GroupStatement } from "./database.js";
import { SqliteConnection } from "./sqlite-connection.js";
import type { WriterAnswer, WriterData } from "./sqlite-writer.js";

const { path, busyMsMax } = workerData as WriterData;
const connection = new SqliteConnection(path);
// Here it may wait without answering: nothing else does.
connection.exec(`PRAGMA busy_timeout = ${busyMsMax}`);

parentPort?.on("message", (group: readonly GroupStatement[] | undefined) => {
  if (group !== undefined) return parentPort?.postMessage(answer(group));
  connection.close();
  parentPort?.close();
});

function answer(group: readonly GroupStatement[]): WriterAnswer {
  try {
    return { isKept: connection.runGroup(group) };
  } catch (error) {
    const code = error instanceof ServerError ? error.code : "SLUICE_DATABASE_FAILED";
    const { message } = ((error as Error).cause ?? error) as Error;
    return { code, seen: message };
  }
}
