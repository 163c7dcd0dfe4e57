// What the service tells of itself: logs, metrics, top lists and spans, behind one interface, so that doors
// report what happened and don't know who listens.

import type { Logger } from "pino";
import type { FallbackEvent, HotKeyEvent, Store } from "sluice";
import type { Facts, PolicyDecision, PolicyEvent } from "sluice/rules";

/** The doors of the service, as metrics name them. */
export type DoorName = "gateway" | "decision" | "forward-auth" | "envoy";

/** Receives what happens. None of these throws. */
export interface Telemetry {
  readonly log: Logger;
  /** A decision of a policy: counted by rule and outcome, sampled into the decision log, its keys ranked. */
  decided(door: DoorName, decision: PolicyDecision, facts: Facts): void;
  /** How long a decision took, in milliseconds. */
  tookMs(door: DoorName, ms: number): void;
  /** A refusal that was answered over HTTP with this status. */
  refused(door: DoorName, status: number): void;
  policyEvent(event: PolicyEvent): void;
  fallbackEvent(event: FallbackEvent): void;
  hotKeyEvent(event: HotKeyEvent): void;
  /** A reload of rules or configuration that worked, or did not. */
  reloaded(what: "rules" | "config" | "envoy", error?: unknown): void;
  /** The store, with its calls timed and its errors counted. */
  measured(store: Store): Store;
  /** The metrics in Prometheus' text format. */
  metrics(): Promise<string>;
}
