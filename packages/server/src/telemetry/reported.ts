// The vocabulary of reports: which listener decided, what was decided, and the figures of other parts of the service.

import type { Verdict } from "sluice";
import type { BreakerState, Priority } from "sluice/adaptive";
import type { Facts } from "sluice/rules";

/** The listeners of the service, as metrics name them. */
export type ListenerName = "gateway" | "decision" | "forward-auth" | "envoy";

/** What can be reloaded, as metrics name it. */
export type ReloadedPart = "rules" | "config" | "envoy" | "lists" | "mmdb";

/** The rule of all limits that came with requests: they are counted as one. */
export const INLINE_RULE = "inline";

/** What they count by. */
export const INLINE_KEY_TYPE = "key";

/** The part of a verdict that is counted and sampled. */
export type CountedVerdict = Omit<Verdict, "resetMs" | "blockedMs">;

/** A request that was decided: its facts, or what can produce them. */
export interface DecidedRequest {
  readonly method: string;
  readonly path: string;
  /** What was found out about the request. Called for few of them. Absent: this object has the facts itself. */
  toFacts?(): Facts;
}

/** The verdict of a limit that is not a rule of a policy: a descriptor of Envoy. */
export interface LimitVerdict {
  /** The limit as its file names it, such as domain and names of entries; never a value of a request. */
  readonly rule: string;
  /** What it counts by: the names of the entries. */
  readonly keyType: string;
  /** Who was counted; it is hashed wherever it is shown. */
  readonly key: string;
  readonly cost: number;
  readonly shadow: boolean;
  readonly verdict: CountedVerdict;
}

/**
 * How a request to an upstream went. Beside it come `retried`, and of a backend `ejected` when it begins to
 * be ejected and `returned` when it answers again after that.
 */
export type UpstreamOutcome =
  | "answered"
  | "failed"
  | "timed-out"
  | "busy"
  | "retried"
  | "ejected"
  | "returned";

/** How an upstream stands that has an adaptive limit or a circuit breaker, or a route with a limit of its own. */
export interface UpstreamLoad {
  readonly upstream: string;
  /** The path of the route; null for the upstream itself. */
  readonly route: string | null;
  /** The limit in force; null if there is none. */
  readonly limit: number | null;
  readonly inFlight: number | null;
  /** The mean latency of the latest requests; null if none was answered yet. */
  readonly latencyMs: number | null;
  /** What the limit shed since the start, by priority. */
  readonly shed: Readonly<Record<Priority, number>> | null;
  /** Null if there is none. */
  readonly breaker: BreakerState | null;
  /** What was shed since the start because the circuit breaker was open, by priority. */
  readonly breakerShed: Readonly<Record<Priority, number>> | null;
}

/** What metrics show of the control plane. */
export interface ControlFigures {
  /** The last change that was applied. */
  readonly sequence: number;
  /** How long ago the state was known to be current. */
  readonly ageMs: number;
  /** Undefined on nodes that are followers. */
  readonly followers: number | undefined;
  /** Changes that the one furthest behind has still to apply. */
  readonly followersBehind: number | undefined;
  /** Changes that were applied since the start. */
  readonly changes: number;
  readonly problems: { readonly feed: number; readonly snapshot: number };
}

/** What metrics show of webhooks. */
export interface WebhookFigures {
  /** Deliveries that this process sent since its start, by their outcome. */
  readonly outcomes: Readonly<Record<"delivered" | "retried" | "failed" | "expired", number>>;
  /** Deliveries on their way, of all nodes. */
  readonly pending: number;
  /** How long the oldest of them has been on its way. */
  readonly oldestMs: number;
}

/** The store of a service, that of the home region if it is another, and the ledger, which durable rules have besides. */
export type StoreName = "store" | "home" | "ledger";
