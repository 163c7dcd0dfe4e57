// Problems of files, for the log: each problem once, on its own line and without a stack trace. The same problem
// often occurs twice, in the rules and in the configuration that names them.

import type { Logger } from "pino";
import { SluiceError } from "sluice";
import { ServerError } from "../../base/errors.js";

/** Logs failed reloads. */
export class FileProblems {
  readonly #log: Logger;
  /** Problems that were logged and have not been fixed. */
  #logged: ReadonlySet<string> = new Set();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Logs why files can't be used, unless it was logged before. */
  report(what: string, error: unknown): void {
    if (!(error instanceof SluiceError || error instanceof ServerError)) {
      this.#log.error({ what, err: error }, FAILED);
      return;
    }
    const seen = namesOf(error);
    const isKnown = seen.every((name) => this.#logged.has(name));
    this.#logged = new Set([...this.#logged, ...seen].slice(-NAMES_MAX));
    if (!isKnown) this.#log.error({ what, problems: toLines(error.message) }, FAILED);
  }

  /** Files can be used again: their problems are new if they come back. */
  clear(): void {
    this.#logged = new Set();
  }
}

const FAILED = "reload failed; the previous rules and settings stay in force";
/** An error names 50 problems at most; a few errors are remembered. */
const NAMES_MAX = 200;

/** A configuration names problems of its rules with the section in front. */
function namesOf(error: SluiceError | ServerError): readonly string[] {
  const { problems } = error as { problems?: readonly { readonly message: string }[] };
  if (problems === undefined || problems.length === 0) return [error.message];
  return problems.map(({ message }) => message.replace(/^rules: /, ""));
}

/** If there are several problems, the first line says only how many. */
function toLines(message: string): readonly string[] {
  const [first, ...others] = message.split("\n");
  return others.length === 0 ? [first] : others.map((line) => line.trim());
}
