// The parts of a service that run in other processes, as the service sees them: listeners that are open there, and
// processes that have to be notified of changes.

import type { AdminControl } from "../admin/service-control.js";
import type { Config, TelemetryConfig } from "../config/config.js";
import type { Listener } from "../core/core.js";
import type { WrittenRules } from "../core/rules-in-force.js";

/** What a new process has to know about the current state of the service. */
export interface InForce {
  readonly rules: WrittenRules;
  readonly logLevel: TelemetryConfig["logLevel"];
}

/** Makes the other processes of a service, which asks `inForce` whenever one of them starts. */
export type OthersMaker = (inForce: () => InForce) => OtherProcesses;

/** The other processes of a service. */
export interface OtherProcesses {
  /** Listeners that are open there. The service drains and closes them by the verbs below. */
  readonly listeners: readonly Listener[];
  /** Why they take no requests, in words; empty if they do. */
  readonly unreadyReasons: readonly string[];
  /** What the admin port asks of all processes together. */
  readonly control: Pick<
    AdminControl,
    | "metrics"
    | "switchRule"
    | "top"
    | "escalatedKeys"
    | "liveCounts"
    | "liveSeconds"
    | "latestSamples"
    | "samplesSince"
  >;
  /** Starts them: their listeners are open when it resolves, or none is. */
  start(): Promise<void>;
  /** Sends them rules that have come into force here. */
  replaceRules(written: WrittenRules): void;
  /** Lets them catch up with the state of the control plane; resolves when they enforce it, rejects if one does not. */
  followControl(): Promise<void>;
  /** Resolves when all rules that were sent have been received. Errors were reported to telemetry. */
  haveRules(): Promise<void>;
  /** Sends them a configuration that was accepted here; rejects if one did not take it. */
  reload(config: Config): Promise<void>;
  /** Makes the health checks of their listeners fail, so that clients go elsewhere; they serve as before. */
  announceDrain(): void;
  /** Lets requests under way end. Returns the names of listeners at which they had not in time. */
  drain(): Promise<readonly string[]>;
  /** Ends them. */
  close(): Promise<void>;
}
