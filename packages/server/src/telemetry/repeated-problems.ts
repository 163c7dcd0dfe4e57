// What goes wrong again and again, with each request even: the log has the first of a kind at once and then
// a line every ten seconds that says how many there were, so that trouble does not bring a flood of lines.

import type { Logger } from "pino";
import { after } from "../base/clock.js";

/** Between two lines about one kind of trouble, in milliseconds. */
export const TROUBLE_QUIET_MS = 10_000;

/** So many kinds are told apart while they last; what comes beyond is told together. */
export const TROUBLE_KINDS_MAX = 100;

/** The message of what comes beyond. */
const OTHER_KINDS = "other trouble";

interface Lasting {
  leftOut: number;
  error: unknown;
  fields: object | undefined;
}

/** Writes lines about trouble. */
export class Troubles {
  readonly #log: Logger;
  readonly #after: (delayMs: number, task: () => void) => unknown;
  /** Kinds that had a line lately; each is forgotten once it has been quiet. */
  readonly #lasting = new Map<string, Lasting>();

  /** @param runAfter - Runs a task once, so many milliseconds from now. Default: by the service's clock. */
  constructor(log: Logger, runAfter: (delayMs: number, task: () => void) => unknown = after) {
    this.#log = log;
    this.#after = runAfter;
  }

  /** Logs the first of a kind, and counts those that come soon after it. */
  see(kind: string, error: unknown, fields?: object): void {
    const isKnown = this.#lasting.has(kind) || this.#lasting.size < TROUBLE_KINDS_MAX;
    const name = isKnown ? kind : OTHER_KINDS;
    const lasting = this.#lasting.get(name);
    if (lasting !== undefined) {
      lasting.leftOut++;
      lasting.error = error;
      lasting.fields = fields;
      return;
    }
    this.#lasting.set(name, { leftOut: 0, error: undefined, fields: undefined });
    this.#log.warn({ ...fields, err: toBare(error) }, name);
    this.#after(TROUBLE_QUIET_MS, () => this.#look(name));
  }

  #look(name: string): void {
    const lasting = this.#lasting.get(name);
    if (lasting === undefined || lasting.leftOut === 0) {
      this.#lasting.delete(name);
      return;
    }
    const { leftOut, error, fields } = lasting;
    // The latest stands for all of them; the line is about itself and those that had none.
    this.#log.warn({ ...fields, err: toBare(error), leftOut: leftOut - 1 }, name);
    this.#lasting.set(name, { leftOut: 0, error: undefined, fields: undefined });
    this.#after(TROUBLE_QUIET_MS, () => this.#look(name));
  }
}

/** Without what else hangs on an error: that of a client of Redis has the whole command, keys and all. */
function toBare(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return Object.assign(new Error(message, { cause }), { name, code, stack });
}
