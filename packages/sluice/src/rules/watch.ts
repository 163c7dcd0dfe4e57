// Watches a rule file and puts its rules in force. It polls every second instead of using the system's notifications,
// so that editors that rename files and mounted directories whose links change work alike. A file that is still being
// written, is missing or is invalid changes nothing.

import { type CancelTimer, type Clock, startTimer, toClock } from "../base/clock.js";
import { SluiceError, show, warn } from "../base/errors.js";
import { notify } from "../base/maybe-promise.js";
import { anyFunction, readOptions, refuse } from "../base/shapes/code-options.js";
import { anything, object, optional, wholeNumber, withDefault } from "../base/shapes/shapes.js";
import { parseRules } from "./parse/parse.js";
import type { Policy } from "./policy/policy.js";

/** Options of {@link watchRules}. */
export interface WatchOptions {
  /** How often the file is looked at, in whole milliseconds from 10 to 3,600,000; default 1,000. */
  pollMs?: number;
  /**
   * Called with the reason why a file can't be used, once for each content, and once while it can't be read. Default: the
   * process warns. What it throws is dropped.
   */
  onError?: (error: unknown) => unknown;
  /** Whose timers are used; default: the system's. */
  clock?: Clock;
}

/** The holder of the rules in force: a policy, or an object that puts them in force in several policies. */
export type RulesHolder = Pick<Policy, "version" | "replace">;

/** A file that is watched. */
export interface RulesWatch {
  /** Reads the file immediately, without waiting for the file to be at rest. Returns whether it put rules in force. */
  check(): boolean;
  /** Looks no more. The rules in force stay. */
  close(): void;
}

const SITE = { name: "watchRules", code: "SLUICE_OPTION_INVALID" } as const;
const POLL_MS = { min: 10, max: 3_600_000 };
const OPTIONS = object({
  pollMs: withDefault(wholeNumber(POLL_MS), 1_000),
  onError: withDefault(anyFunction, warnOf),
  clock: optional(anything()),
} satisfies Record<keyof WatchOptions, unknown>);

/**
 * Puts the rules of a file in force now, and whenever it says others. It is looked at every `pollMs`; a
 * change is taken when the file has not changed between two looks, so that one which is half written is
 * not. What the file says already is not put in force again.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if the file does not exist or can't be read now, RulesError if its rules
 * can't be used: nothing should start without its limits. Later that is passed to `onError`, and the rules in force stay.
 */
export function watchRules(
  file: string,
  policy: RulesHolder,
  options: WatchOptions = {},
): RulesWatch {
  const { pollMs, onError, clock } = readOptions(SITE, OPTIONS, options);
  if (typeof file !== "string" || file === "") refuse(SITE, `needs a file, got ${show(file)}`);
  return new FileWatch(file, policy, { pollMs, onError, clock: toClock(SITE, clock) });
}

class FileWatch implements RulesWatch {
  readonly #file: string;
  readonly #policy: RulesHolder;
  readonly #options: Required<WatchOptions>;
  readonly #fs = fileSystem();
  /** How the file looked the last time, how when it was read, and the text that was read. */
  #mark = "";
  #readMark = "";
  #text: string | undefined;
  #isUnreadable = false;
  #stop: CancelTimer | undefined;

  constructor(file: string, policy: RulesHolder, options: Required<WatchOptions>) {
    this.#file = file;
    this.#policy = policy;
    this.#options = options;
    this.#mark = this.#look();
    this.#read();
    this.#wait();
  }

  check(): boolean {
    try {
      this.#mark = this.#look();
      return this.#read();
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #wait(): void {
    this.#stop = startTimer(this.#options.clock, this.#options.pollMs, () => {
      this.#poll();
      // Closed meanwhile, by the callback for the new rules.
      if (this.#stop !== undefined) this.#wait();
    });
  }

  #poll(): void {
    try {
      const mark = this.#look();
      const isAtRest = mark === this.#mark;
      this.#mark = mark;
      if (isAtRest && mark !== this.#readMark) this.#read();
    } catch (error) {
      this.#complain(error);
    }
  }

  /** What changes when the file does: which one it is, its length, when it was written. */
  #look(): string {
    const { dev, ino, size, mtimeMs } = this.#reach(() => this.#fs.statSync(this.#file));
    return `${dev}/${ino}/${size}/${mtimeMs}`;
  }

  #read(): boolean {
    const text = this.#reach(() => this.#fs.readFileSync(this.#file, "utf8"));
    // Looked at before it was read: if it has changed in between, it is read again.
    this.#readMark = this.#mark;
    this.#isUnreadable = false;
    if (text === this.#text) return false;
    // Before anything can fail: a string that can't be used is complained of once.
    this.#text = text;
    const rules = parseRules(text, { file: this.#file });
    if (rules.version === this.#policy.version) return false;
    this.#policy.replace(rules);
    return true;
  }

  #reach<T>(operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      throw new UnreadableError(this.#file, error);
    }
  }

  #complain(error: unknown): void {
    if (error instanceof SluiceError && !(error instanceof UnreadableError)) {
      notify(() => this.#options.onError(error));
      return;
    }
    this.#mark = "";
    this.#readMark = "";
    if (this.#isUnreadable) return;
    this.#isUnreadable = true;
    notify(() => this.#options.onError(error));
  }
}

/** A file that is not there, or that can't be read. */
class UnreadableError extends SluiceError {
  constructor(file: string, cause: unknown) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `can't be read: ${message}`;
    super(SITE.code, `${SITE.name}: the file ${show(file)} ${why}`);
    this.cause = cause;
  }
}

/** Asked for only when a file is watched: where there are no files, rules work regardless. */
function fileSystem(): Pick<typeof import("node:fs"), "readFileSync" | "statSync"> {
  const fs = globalThis.process?.getBuiltinModule?.("node:fs");
  if (fs !== undefined) return fs;
  throw new SluiceError("SLUICE_OPTION_INVALID", "watchRules needs a platform with files");
}

function warnOf(error: unknown): void {
  warn("SLUICE_RULES", error instanceof Error ? error.message : String(error));
}
