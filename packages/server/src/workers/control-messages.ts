// What the primary and its workers ask each other, and for how long.

import type { TelemetryConfig } from "../config/config.js";
import type { Listener } from "../core/core.js";
import type { WrittenRules } from "../core/rules-in-force.js";

/** Set in the environment of workers: a process that has it is one. No SLUICE_…: those are configuration. */
export const WORKER_VARIABLE = "WORKER_OF_SLUICE";

/** How long a worker may take to open its listeners. */
export const START_MS_MAX = 30_000;
/** How long a worker may take to put rules in force or tell its figures. */
export const ASK_MS_MAX = 5_000;
/** How long a worker may take beyond `drainMs` to return its leases and end. */
export const END_MS_MAX = 5_000;
/** How long the primary may take to answer for the store before the policy of a rule answers instead. */
export const STORE_MS_MAX = 2_000;

/** What a worker is started with. */
export interface WorkerStart {
  readonly rules: WrittenRules;
  readonly switches: Switches;
  /** What keys are hashed with in logs and top lists. */
  readonly keySecret: string;
  readonly logLevel: TelemetryConfig["logLevel"];
  /** The configuration as the primary read it; undefined if it came from code, which a worker runs too. */
  readonly config: { readonly file: string; readonly text: string } | undefined;
}

/** What an operator has switched off. */
export interface Switches {
  readonly all: boolean;
  readonly rules: readonly string[];
}

/** A listener of a worker, as it tells of it. */
export type ListenerReport = Pick<Listener, "name" | "url" | "httpUrl">;
