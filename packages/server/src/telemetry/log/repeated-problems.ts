// Problems that may come with every request. The log has the first of a kind immediately, and then one line
// every ten seconds with their number, so that an outage does not flood the log.

import type { Logger } from "pino";
import { after } from "../../base/clock.js";

/** The time between two lines about one kind of problem, in milliseconds. */
export const PROBLEM_QUIET_MS = 10_000;

/** The most kinds that are reported separately at a time. Further kinds share one line. */
export const PROBLEM_KINDS_MAX = 100;

/** The message of the line that further kinds share. */
const OTHER_KINDS = "other problems";

interface RecentKind {
  leftOut: number;
  error: unknown;
  fields: object | undefined;
}

/** Logs problems, each kind at a bounded rate. */
export class RepeatedProblems {
  readonly #log: Logger;
  readonly #after: (delayMs: number, task: () => void) => unknown;
  /** Kinds with a recent line. Each is forgotten after a quiet interval. */
  readonly #recent = new Map<string, RecentKind>();

  /** @param runAfter - Runs a task once after a delay. Default: the service's clock. */
  constructor(log: Logger, runAfter: (delayMs: number, task: () => void) => unknown = after) {
    this.#log = log;
    this.#after = runAfter;
  }

  /** Logs the first of a kind, and counts those that come soon after it. */
  report(kind: string, error: unknown, fields?: object): void {
    const isKnown = this.#recent.has(kind) || this.#recent.size < PROBLEM_KINDS_MAX;
    const name = isKnown ? kind : OTHER_KINDS;
    const recent = this.#recent.get(name);
    if (recent !== undefined) {
      recent.leftOut++;
      recent.error = error;
      recent.fields = fields;
      return;
    }
    this.#recent.set(name, { leftOut: 0, error: undefined, fields: undefined });
    this.#log.warn({ ...fields, err: toBare(error) }, name);
    this.#after(PROBLEM_QUIET_MS, () => this.#endInterval(name));
  }

  #endInterval(name: string): void {
    const recent = this.#recent.get(name);
    if (recent === undefined || recent.leftOut === 0) {
      this.#recent.delete(name);
      return;
    }
    const { leftOut, error, fields } = recent;
    // The line shows the latest problem; `leftOut` counts the others, which have no line.
    this.#log.warn({ ...fields, err: toBare(error), leftOut: leftOut - 1 }, name);
    this.#recent.set(name, { leftOut: 0, error: undefined, fields: undefined });
    this.#after(PROBLEM_QUIET_MS, () => this.#endInterval(name));
  }
}

/** Drops other properties of the error: an error of a Redis client holds the whole command, with keys. */
function toBare(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return Object.assign(new Error(message, { cause }), { name, code, stack });
}
