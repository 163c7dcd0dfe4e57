// What `sluice serve --check` reports about the control plane: where this node would get its state from, and whether
// that answers now. It does not have to answer: a node can also start from its snapshot.

import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { ServerError } from "../../base/errors.js";
import type {
  ControlConfig,
  DatabaseControlConfig,
  FollowControlConfig,
} from "../../config/config.js";
import { ControlNodeClient } from "../../control/feed/http-requests.js";
import { openDatabase } from "../../database/open-database.js";

/** What was found. */
export interface ControlFinding {
  /** For the summary: `follower of https://control:9090`. */
  readonly role: string;
  /** What would go wrong at a start; undefined if nothing would. */
  readonly warning: string | undefined;
}

/** Looks where a node would get its state from. Changes nothing there. */
export async function checkControl(control: ControlConfig): Promise<ControlFinding> {
  if (control.kind === "follow") {
    const problem = await findFollowProblem(control);
    return { role: `follower of ${control.url}`, warning: problem && say(problem, control) };
  }
  if (control.database.startsWith("file:")) return checkFile(control.database);
  return { role: "control node with PostgreSQL", warning: await findDatabaseProblem(control) };
}

function say(problem: string, { snapshotFile }: ControlConfig): string {
  const start = existsSync(snapshotFile)
    ? `until it does, the node starts from ${snapshotFile}`
    : "the node can't start until it does, since it has no snapshot yet";
  return `${problem}; ${start}`;
}

function checkFile(url: string): ControlFinding {
  const path = url.slice("file:".length);
  const isThere = existsSync(path);
  const role = `control node with ${path}${isThere ? "" : ", which is made at the first start"}`;
  try {
    accessSync(isThere ? path : dirname(path), constants.R_OK | constants.W_OK);
    return { role, warning: undefined };
  } catch (error) {
    return { role, warning: `control.database: ${messageOf(error)}` };
  }
}

async function findDatabaseProblem(control: DatabaseControlConfig): Promise<string | undefined> {
  const database = openDatabase(control.database, ".");
  try {
    await database.checkVersion();
    return undefined;
  } catch (error) {
    const problem = `control.database: ${messageOf(error)}`;
    // No snapshot helps there: the node does not start.
    const isTooOld = error instanceof ServerError && error.code === "SLUICE_DATABASE_UNSUPPORTED";
    return isTooOld ? problem : say(problem, control);
  } finally {
    await database.close();
  }
}

async function findFollowProblem(control: FollowControlConfig): Promise<string | undefined> {
  const { url } = control;
  try {
    const client = new ControlNodeClient(control);
    const answer = await client.send({ path: "/livez" });
    answer.destroy();
    client.close();
    if (answer.headers["sluice-admin"] !== undefined) return undefined;
    return `control.follow: ${url} is not the admin port of Sluice`;
  } catch (error) {
    return `control.follow: ${url} does not answer: ${messageOf(error)}`;
  }
}

function messageOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
