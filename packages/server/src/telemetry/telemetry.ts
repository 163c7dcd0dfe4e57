// What the service reports: logs, metrics, top lists and spans, behind one interface, so that listeners report
// what happened and don't know who reads it.

import type { Logger } from "pino";
import type { FallbackEvent, Store } from "sluice";
import type { Policy, PolicyDecision, PolicyEvent } from "sluice/rules";
import type { LiveCounts } from "./live/live-counts.js";
import type { MetricValues } from "./merge.js";
import type { ClientFigures } from "./metrics/client-figures.js";
import type {
  ControlFigures,
  CountedVerdict,
  DecidedRequest,
  LimitVerdict,
  ListenerName,
  ReloadedPart,
  StoreName,
  UpstreamOutcome,
  WebhookFigures,
} from "./reported.js";
import type { Samples } from "./samples/sampled-decision.js";
import type { EscalatedKeys } from "./tally/escalated-keys.js";
import type { LiveSecond } from "./tally/second-history.js";
import type { TopOptions, TopReport } from "./top/top-report.js";
import type { UpstreamLoads } from "./top/upstream-loads.js";

/** Receives what happens. None of these throws. */
export interface Telemetry {
  readonly log: Logger;
  /**
   * A decision of a policy: counted by rule and outcome, sampled into the decision log and the samples, its keys ranked.
   *
   * @param request - What was asked. Never in logs or metrics; samples and the demo show it.
   * @param ms - How long it took, in milliseconds. With it the span has its true length, and `tookMs` must
   * not be called for the same decision. Without it the span has length 0.
   */
  decided(
    listener: ListenerName,
    decision: PolicyDecision,
    request: DecidedRequest,
    ms?: number,
  ): void;
  /** A client that operators refuse, and that no rule saw: counted and logged as `decided` does, not sampled. */
  refusedByOperator(listener: ListenerName, decision: PolicyDecision): void;
  /**
   * A decision that no policy made, with what each limit said: counted, logged and ranked as `decided`
   * does. Limits of a file that is reloaded begin at none, by `reloaded("envoy")`.
   */
  decidedByLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void;
  /**
   * A decision by a limit that came with its request, reported in the same way, all such limits as the rule
   * {@link INLINE_RULE}.
   *
   * @param key - Who was counted; it is hashed wherever it is shown.
   */
  decidedInline(listener: ListenerName, key: string, cost: number, verdict: CountedVerdict): void;
  /**
   * Runs what reports many decisions before it returns. They count as of one instant, so that the clock is
   * read once for all of them.
   */
  together<T>(report: () => T): T;
  /** How long a decision took, in milliseconds, if `decided` did not get it. */
  tookMs(listener: ListenerName, ms: number): void;
  /** A refusal that was answered over HTTP with this status. */
  refused(listener: ListenerName, status: number): void;
  /**
   * Something went wrong that may go wrong with every request. The log has a line immediately for the first of
   * a kind, then at most one in ten seconds, with how many were left out.
   *
   * @param kind - In words, the message of the line. One of a few fixed strings: never a value of a request.
   * @param error - What was thrown; of those that share a line, the latest is shown.
   * @param fields - What else the line says. No keys, addresses or paths of requests.
   */
  problem(kind: string, error: unknown, fields?: object): void;
  policyEvent(event: PolicyEvent): void;
  /** The circuit breaker of the store or of the ledger opened or closed. Default: of the store. */
  fallbackEvent(event: FallbackEvent, of?: StoreName): void;
  /** A reload of rules, configuration, lists or MMDB files that worked, or did not. */
  reloaded(what: ReloadedPart, error?: unknown): void;
  /**
   * A request that the gateway forwarded, and its outcome. A backend that is `ejected` or has `returned` also
   * has a line in the log, with `backend`: its host and port.
   */
  upstream(name: string, outcome: UpstreamOutcome, backend?: string): void;
  /** A fetch of `identity.jwt.jwksUrl` failed: counted, and logged as a problem. */
  jwksFetchFailed(error: Error): void;
  /** What metrics show of MMDB files and of challenges. */
  readonly clients: ClientFigures;
  /** A worker process ended unexpectedly. */
  workerEnded(): void;
  /** Makes metrics include the statistics of a policy, or of a store with `stats`. */
  watch(source: Policy | Store): void;
  /** The control plane, whose figures metrics show from now on. */
  watchControl(read: () => ControlFigures): void;
  /** Upstreams with adaptive limits or circuit breakers, which metrics and the top report show. */
  readonly loads: UpstreamLoads;
  /** The webhooks, whose figures metrics show from now on. */
  watchWebhooks(read: () => WebhookFigures): void;
  /** The store, with its calls timed and its errors counted. Default: those of the store of rules, not of the ledger. */
  measured(store: Store, as?: StoreName): Store;
  /** The metrics in Prometheus' text format. */
  metrics(): Promise<string>;
  /** The same as values, for {@link mergeMetrics} in a service of several processes. */
  metricValues(): Promise<MetricValues>;
  /** How busy each rule is and which keys make it so; {@link mergeTop} joins those of several processes. */
  top(options?: TopOptions): TopReport;
  /** Counts since the start, for live views; {@link mergeLiveCounts} adds up those of several processes. */
  liveCounts(): LiveCounts;
  /** The last five minutes, second by second; {@link mergeSeconds} adds up those of several processes. */
  liveSeconds(): readonly LiveSecond[];
  /** Sampled decisions, for previews and history; {@link mergeReports} joins those of several processes. */
  readonly samples: Samples;
  /** Keys that escalations of this process blocked; {@link mergeEscalated} joins those of several processes. */
  readonly escalatedKeys: Pick<EscalatedKeys, "list">;
}
