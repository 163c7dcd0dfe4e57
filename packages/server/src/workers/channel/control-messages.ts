// The messages between the primary and its workers, and their timeouts.

import type { SwitchStates } from "sluice/rules";
import type { TelemetryConfig } from "../../config/config.js";
import type { Listener } from "../../core/core.js";
import type { WrittenRules } from "../../core/rules-in-force.js";

/** Set in the environment of workers only. Not SLUICE_…, because those variables are configuration. */
export const WORKER_VARIABLE = "WORKER_OF_SLUICE";

/** How long a worker may take to open its listeners. */
export const START_MS_MAX = 30_000;
/** How long a worker may take to apply rules or report its metrics. */
export const ASK_MS_MAX = 5_000;
/** How long a worker may take beyond `drainMs` to return its leases and end. */
export const END_MS_MAX = 5_000;
/** How long the primary may take to answer a store call. After that, the rule's `onStoreFailure` answers. */
export const STORE_MS_MAX = 2_000;

/** What a worker is started with. */
export interface WorkerStart {
  readonly rules: WrittenRules;
  readonly switches: SwitchStates;
  /** What keys are hashed with in logs and top lists. */
  readonly keySecret: string;
  readonly logLevel: TelemetryConfig["logLevel"];
  /** The configuration as the primary read it; undefined if it came from code, which a worker runs too. */
  readonly config: { readonly file: string; readonly text: string } | undefined;
}

/** The name and addresses of a worker's listener. */
export type ListenerAddress = Pick<Listener, "name" | "url" | "httpUrl">;
