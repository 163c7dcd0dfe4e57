// What the admin port needs from the service. In a service of several processes it answers for
// all of them.

import type { ControlPlane } from "../control/control-plane.js";
import type { FeedServer } from "../control/feed/feed-server.js";
import type { NodeSwitching } from "../control/node-switching.js";
import type { NodeStatus } from "../control/nodes.js";
import type { ControlState } from "../control/state/state.js";
import type { LiveCounts } from "../telemetry/live/live-counts.js";
import type {
  SampledDecision,
  SampleReport,
  SamplesQuery,
} from "../telemetry/samples/sampled-decision.js";
import type { EscalatedKey } from "../telemetry/tally/escalated-keys.js";
import type { LiveSecond } from "../telemetry/tally/second-history.js";
import type { TopOptions, TopReport } from "../telemetry/top/top-report.js";

/** Whether the service takes requests, and what is wrong. */
export interface Ready {
  readonly ready: boolean;
  /** In words. A service can be ready in spite of them: without its store it decides by `onStoreFailure`. */
  readonly reasons: readonly string[];
}

/** The service, as the admin port asks it. */
export interface AdminControl {
  isReady(): Ready;
  /** Reads rules and configuration again. Rejects with what is wrong with them. */
  reload(): Promise<void>;
  /** Whether the configuration has rules that are not used, because those of a control plane are. Default: no. */
  hasUnusedRules?(): boolean;
  /** In Prometheus' text format. */
  metrics(): Promise<string>;
  /**
   * Switches a rule off or on, or all of them if `ruleId` is undefined. Default: in the policies of this
   * process.
   */
  switchRule?(ruleId: string | undefined, isOn: boolean): void | Promise<void>;
  /** Default: that of this process. */
  top?(options: TopOptions): TopReport | Promise<TopReport>;
  /** Keys that escalations blocked. Default: those of this process. */
  escalatedKeys?(): Promise<readonly EscalatedKey[]>;
  /** Counts since the start. Default: those of this process. */
  liveCounts?(): Promise<LiveCounts>;
  /** The last minutes, second by second. Default: those of this process. */
  liveSeconds?(): Promise<readonly LiveSecond[]>;
  /** The newest samples. Default: those of this process. */
  latestSamples?(query: SamplesQuery): Promise<readonly SampledDecision[]>;
  /** All decisions about sampled keys since a time by the wall clock. Default: those of this process. */
  samplesSince?(sinceMs: number): Promise<SampleReport>;
  /** The name of this node, as `GET /v1/nodes` shows it. Default: it has no name, since it has no `control`. */
  nodeName?(): string;
  /**
   * The control plane: its collections on a control node, and the control node's address on a follower. Undefined
   * without `control` in the configuration.
   */
  readonly controlPlane?: ControlPlane | { readonly follow: string } | undefined;
  /** What this node knows of the control plane; access tokens are checked against it. Undefined without `control`. */
  readonly controlState?: ControlState | undefined;
  /** Switches rules on this node alone; undefined without `control`. */
  readonly nodeSwitching?: NodeSwitching | undefined;
  /** Serves followers; undefined on nodes that can't have followers. */
  readonly feed?: FeedServer | undefined;
  /** All nodes that are known; undefined without `control`. */
  nodes?(): Promise<readonly NodeStatus[]>;
}
