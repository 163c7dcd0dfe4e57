// Verifies the ledger in threads of their own, each with a connection and a range of accounts at a time: hashing takes
// most of the time, and the thread that decides requests continues meanwhile.

import { once } from "node:events";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Row } from "../../database/database.js";
import { openDatabase } from "../../database/open-database.js";
import { statements } from "../sql/statements.js";
import { Findings, type LedgerReport } from "./report.js";
import type { IdRange } from "./verify-range.js";

/** What a thread is started with. */
export interface ThreadData {
  /** The URL of the database, with an absolute path. */
  readonly url: string;
  readonly listedMax: number | undefined;
}

/** Options of {@link verifyInThreads}. */
export interface ThreadOptions {
  /** Default: half of the processors, so that the service keeps the other half. */
  readonly threads?: number;
  /** How many problems the report lists; all are counted. Default 100. */
  readonly listedMax?: number;
}

const THREAD = fileURLToPath(new URL("./verify-thread.js", import.meta.url));
/** False where the sources were not built: the ledger is then verified where that is asked for. */
export const hasVerifyThreads = existsSync(THREAD);

/** Accounts that a thread takes at a time. */
const RANGE_ACCOUNTS = 100;
const THREADS_MAX = 16;

/**
 * Verifies all accounts. Writers may go on meanwhile.
 *
 * @param url - Of the database, with an absolute path.
 * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` or `SLUICE_DATABASE_FAILED`.
 */
export async function verifyInThreads(
  url: string,
  { threads = defaultThreads(), listedMax }: ThreadOptions = {},
): Promise<LedgerReport> {
  const findings = new Findings(listedMax);
  const ranges = new Ranges(url);
  const workers = Array.from({ length: Math.min(THREADS_MAX, threads) }, () => {
    const workerData: ThreadData = { url, listedMax };
    return new Worker(THREAD, { workerData });
  });
  try {
    await Promise.all(workers.map((worker) => work(worker, ranges, findings)));
    return findings.toReport();
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
    await ranges.close();
  }
}

function defaultThreads(): number {
  return Math.max(1, Math.floor(availableParallelism() / 2));
}

/** Gives a thread one range after the other. */
async function work(worker: Worker, ranges: Ranges, findings: Findings): Promise<void> {
  for (;;) {
    const range = await ranges.next();
    if (range === undefined) return;
    worker.postMessage(range);
    const [answer] = (await once(worker, "message")) as [
      { report: LedgerReport } | { error: Error },
    ];
    if ("error" in answer) throw answer.error;
    findings.addReport(answer.report);
  }
}

/** The ranges that all accounts are cut into. */
class Ranges {
  readonly #database;
  #after: string | undefined = "";
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string) {
    this.#database = openDatabase(url, "/");
  }

  /** The next range; undefined after the last, which is open. */
  next(): Promise<IdRange | undefined> {
    const next = this.#turn.then(() => this.#next());
    this.#turn = next.catch(() => {});
    return next;
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #next(): Promise<IdRange | undefined> {
    const after = this.#after;
    if (after === undefined) return undefined;
    const values = [after, RANGE_ACCOUNTS - 1];
    const [row] = await this.#database.query<Row & { id: string }>(statements.findAccount, values);
    this.#after = row?.id;
    return { after, upTo: row?.id };
  }
}
