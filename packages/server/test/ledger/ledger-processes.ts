// Processes that charge a ledger, over the built package, and what tests ask of the database afterwards.

import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Database } from "../../src/database/database.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";

const PROGRAM = fileURLToPath(new URL("./ledger-process.mjs", import.meta.url));
const started: LedgerProcess[] = [];

/** A process that charges. */
export class LedgerProcess {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #ids = 0;

  private constructor(url: string, actor: string) {
    this.#process = fork(PROGRAM, [url, actor]);
    this.#process.on("message", (message: { id: number; answer?: unknown; error?: string }) => {
      this.#waiting.get(message.id)?.(message.error ?? message.answer);
      this.#waiting.delete(message.id);
    });
    // What was asked of a process that is gone gets no answer.
    this.#process.on("exit", () => {
      for (const answer of this.#waiting.values()) answer(undefined);
    });
    this.#process.on("error", () => {});
    started.push(this);
  }

  static async start(url: string, actor: string): Promise<LedgerProcess> {
    const child = new LedgerProcess(url, actor);
    await new Promise((resolve) => child.#waiting.set(0, resolve));
    return child;
  }

  /** Resolves with the answer, with the message of an error, or with nothing if the process has gone. */
  ask(message: object): Promise<unknown> {
    const id = ++this.#ids;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#process.send({ id, ...message }, (error) => error === null || resolve(undefined));
    });
  }

  /** Lets files of the process grow to this many bytes, as if the disk were full then; undefined for no bound. */
  limitFiles(bytesMax: number | undefined): void {
    const bound = `--fsize=${bytesMax ?? "unlimited"}:unlimited`;
    execFileSync("prlimit", ["--pid", String(this.#process.pid), bound]);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}

/** Ends all processes that were started. */
export function killProcesses(): void {
  for (const child of started.splice(0)) child.kill();
}

/** Units of final charges. */
export async function usedUnits(database: Database): Promise<number> {
  const [row] = await database.query<{ units: number }>(
    "SELECT CAST(-SUM(amount) AS BIGINT) AS units FROM ledger_entries WHERE kind = 'use'",
  );
  return Number(row?.units);
}

/** Verifies the ledger. */
export async function expectWhole(database: Database): Promise<void> {
  expect((await verifyLedger(database)).problems).toEqual([]);
}
