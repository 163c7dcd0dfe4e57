// The rules of a service: read from where the configuration says, watched if that is a file, and put in
// force in all policies together. Invalid rules change nothing; they are counted, and reported with their lines.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "sluice";
import {
  type Policy,
  type PreparedRules,
  parseRules,
  type RuleSet,
  type RulesWatch,
  watchRules,
} from "sluice/rules";
import { after, type CancelTimer } from "../base/clock.js";
import { POLL_MS } from "../base/files/watch-files.js";
import type { RulesSource } from "../config/config.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { parseKnown } from "./rules/known-rules.js";

/** Rules as they were written, before anything is read out of them: what is sent to other processes. */
export type WrittenRules =
  | { readonly file: string; readonly text: string }
  | { readonly inline: object };

/** Whether both say the same, and come from the same place. */
export function isSameWritten(one: WrittenRules | undefined, other: WrittenRules): boolean {
  if (one === undefined || "inline" in one) return isDeepStrictEqual(one, other);
  return "text" in other && one.file === other.file && one.text === other.text;
}

/** Reads rules as they are written now; throws the system's error if a file can't be read. */
export function readWritten(source: RulesSource): WrittenRules {
  if ("inline" in source) return { inline: source.inline };
  return { file: source.file, text: readFileSync(source.file, "utf8") };
}

/** Parses written rules; throws an error that has the line of each problem. */
export function parseWritten(written: WrittenRules): RuleSet {
  return "inline" in written ? parseRules(written.inline) : parseKnown(written);
}

/** The rules of a configuration, read and parsed now. */
export function readRules(source: RulesSource): RuleSet {
  return parseWritten(readWritten(source));
}

/**
 * Puts rules in force in all policies, or in none: if one can't use them, those before it get back what
 * they had, and the error is thrown.
 *
 * @param rules - For all of them, or what each has prepared.
 */
export function replaceAll(
  policies: readonly Policy[],
  rules: RuleSet | readonly PreparedRules[],
): void {
  const before = policies.map((policy) => policy.rules);
  policies.forEach((policy, at) => {
    try {
      policy.replace("version" in rules ? rules : rules[at]);
    } catch (error) {
      for (let i = 0; i < at; i++) policies[i].replace(before[i]);
      throw error;
    }
  });
}

/** What keeps rules in force, wherever they come from. */
export interface ReloadableRules {
  /** The rules in force, as they were written. */
  readonly written: WrittenRules;
  /**
   * Reads the rules again, from another place if one is given. Throws what is wrong with them, or rejects with it where
   * they are many and come into force later.
   */
  reload(source?: RulesSource): Promise<void> | undefined;
  /** Reports what is wrong with the rules as they are now, if anything. */
  inspect(): void;
  /** Follows changes no more. */
  close(): void;
}

/** What rules are kept in force with. */
export interface RulesInForceOptions {
  readonly source: RulesSource;
  /** Those that are most likely to refuse rules first: they change first and so change back least. */
  readonly policies: readonly Policy[];
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Called with rules that have just come into force. */
  readonly onReplaced?: ((written: WrittenRules) => void) | undefined;
  /** Called when a file that could not be used can be used again, without a reload. */
  readonly onMended?: (() => void) | undefined;
}

/** Keeps the rules of a service in force until it is closed. */
export class RulesInForce implements ReloadableRules {
  readonly #options: RulesInForceOptions;
  #source: RulesSource;
  #written: WrittenRules;
  #watch: RulesWatch | undefined;
  /** The latest problem that was reported, so that the watch does not repeat what a reload has just said. */
  #complaint: string | undefined;
  #stopMending: CancelTimer | undefined;

  constructor(options: RulesInForceOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#written = readWritten(options.source);
    // The file may have changed since the policies were made by it.
    if (parseWritten(this.#written).version !== this.version) this.#replace(this.#written);
    this.#startWatch();
  }

  /** The rules in force, as they were written. */
  get written(): WrittenRules {
    return this.#written;
  }

  /** The version in force. */
  get version(): string {
    return this.#options.policies[0].version;
  }

  /**
   * Reads the rules again, from another place if one is given. Throws what is wrong with them; it is reported
   * and counted then too, and what was in force stays.
   */
  reload(source: RulesSource = this.#source): undefined {
    try {
      this.#replace(readWritten(source));
    } catch (error) {
      this.#reportFailed(error);
      // A file elsewhere is not looked at: it is read when the configuration that names it is.
      if (isSamePlace(source, this.#source)) this.#waitForMending();
      throw error;
    }
    const isElsewhere = !isSamePlace(source, this.#source);
    this.#source = source;
    if (isElsewhere) this.#startWatch();
  }

  /** Reports what is wrong with the file as it is now, if anything, and reports again when it is fixed. */
  inspect(): void {
    try {
      readRules(this.#source);
    } catch (error) {
      this.#complain(error);
    }
  }

  /** Looks at the file no more. */
  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#stopMending?.();
    this.#stopMending = undefined;
  }

  #startWatch(): void {
    this.close();
    if ("inline" in this.#source) return;
    const { clock } = this.#options;
    const version = () => this.version;
    const holder = {
      get version() {
        return version();
      },
      // Read once more, so that what is in force and what it was written as are one.
      replace: () => {
        const wasBad = this.#complaint !== undefined;
        this.#replace(readWritten(this.#source));
        if (wasBad) this.#options.onMended?.();
      },
    };
    this.#watch = watchRules(this.#source.file, holder, {
      clock,
      pollMs: POLL_MS,
      onError: (error) => this.#complain(error),
    });
  }

  #replace(written: WrittenRules): void {
    const { policies, telemetry, onReplaced } = this.#options;
    replaceAll(policies, parseWritten(written));
    this.#written = written;
    this.#complaint = undefined;
    telemetry.reloaded("rules");
    onReplaced?.(written);
  }

  #complain(error: unknown): void {
    if (String(error) === this.#complaint) return;
    this.#reportFailed(error);
    this.#waitForMending();
  }

  #reportFailed(error: unknown): void {
    this.#complaint = String(error);
    this.#options.telemetry.reloaded("rules", error);
  }

  /** The watch does not report a file that is restored to the rules in force, so this looks for it. */
  #waitForMending(): void {
    this.#stopMending?.();
    // Closed while a reload was under way.
    if (this.#watch === undefined) return;
    const { clock } = this.#options;
    const look = () => {
      if (this.#complaint === undefined) return;
      if (this.#isInForce()) this.#reportMended();
      else this.#waitForMending();
    };
    this.#stopMending = clock.after?.(POLL_MS, look) ?? after(POLL_MS, look);
  }

  #isInForce(): boolean {
    try {
      return readRules(this.#source).version === this.version;
    } catch {
      return false;
    }
  }

  #reportMended(): void {
    const { telemetry, onMended } = this.#options;
    this.#complaint = undefined;
    telemetry.reloaded("rules");
    onMended?.();
  }
}

function isSamePlace(a: RulesSource, b: RulesSource): boolean {
  return "file" in a && "file" in b && a.file === b.file;
}
