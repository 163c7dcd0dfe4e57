// Every metric of the service: names, help and labels. All of them also carry `region`. A test keeps this
// list, docs/reference/metrics.md, the dashboard and the alerts equal.

import { ABUSE_METRICS } from "./abuse-metrics.js";
import { CLIENT_METRICS } from "./client-metrics.js";
import { counter, gauge, histogram } from "./define-metric.js";
import { HOME_METRICS } from "./home-metrics.js";
import type { MetricDefinition } from "./sampled-metric.js";
import { SKETCH_METRICS } from "./sketch-metrics.js";
import { UPSTREAM_METRICS } from "./upstream-metrics.js";

const RULE = ["rule", "endpoint", "key_type", "outcome"];

/** The metrics, by what reads them. */
export const METRICS = {
  allowed: counter(
    "rate_limiter_allowed_total",
    "Requests that a rule counted and that were admitted, by whether they had to wait.",
    RULE,
  ),
  blocked: counter(
    "rate_limiter_blocked_total",
    "Requests that a rule refused, by reason: limit, blocked, identity, store or denied.",
    RULE,
  ),
  shadow: counter(
    "rate_limiter_shadow_total",
    "Requests that a rule in shadow mode counted, by what it would have done.",
    RULE,
  ),
  settledUnits: counter(
    "rate_limiter_settled_units_total",
    "Units of requests under rules with settle: what was reserved, and what stayed charged once they had ended.",
    ["rule", "outcome"],
  ),
  settleEstimates: counter(
    "rate_limiter_settle_estimates_total",
    "Requests whose real cost was not known, so that what was reserved stays charged, by reason.",
    ["rule", "reason"],
  ),
  ...ABUSE_METRICS,
  decisions: counter(
    "rate_limiter_decisions_total",
    "Decisions, each counted once however many rules match; unmatched if no rule counted the request.",
    ["listener", "outcome"],
  ),
  sources: counter(
    "rate_limiter_decision_source_total",
    "Decisions under at least one rule, by the source of the verdict that bound.",
    ["source"],
  ),
  decisionSeconds: histogram("rate_limiter_decision_seconds", "How long decisions took.", [
    "listener",
  ]),
  http429: counter("http_429_total", "Responses with status 429 that Sluice wrote.", ["listener"]),
  refusals: counter(
    "rate_limiter_http_refusals_total",
    "Responses that Sluice wrote instead of forwarding the request, by status.",
    ["listener", "status"],
  ),
  redisSeconds: histogram(
    "rate_limiter_redis_latency_seconds",
    "How long calls to the shared store took, failed ones included.",
    ["operation"],
  ),
  redisErrors: counter(
    "rate_limiter_redis_errors_total",
    "Calls to the shared store that failed.",
    ["operation"],
  ),
  fallbackEntered: counter(
    "rate_limiter_fallback_mode_total",
    "How often the circuit breaker of the shared store opened, so that onStoreFailure decided.",
  ),
  fallbackActive: gauge(
    "rate_limiter_fallback_active",
    "1 while the circuit breaker of the shared store is open, else 0.",
    [],
    "max",
  ),
  fallbackSeconds: counter(
    "rate_limiter_fallback_seconds_total",
    "Seconds during which the circuit breaker of the shared store was open.",
    [],
    "max",
  ),
  homeSeconds: histogram(
    "rate_limiter_home_latency_seconds",
    "How long calls to the store of the home region took, failed ones included.",
    ["operation"],
  ),
  homeErrors: counter(
    "rate_limiter_home_errors_total",
    "Calls to the store of the home region that failed.",
    ["operation"],
  ),
  homeFallbackActive: gauge(
    "rate_limiter_home_fallback_active",
    "1 while the circuit breaker of the home region is open, so that rules with across: central decide by onStoreFailure, and those with across: leased once what the region holds is spent, else 0.",
    [],
    "max",
  ),
  homeFallbackSeconds: counter(
    "rate_limiter_home_fallback_seconds_total",
    "Seconds during which the circuit breaker of the home region was open.",
    [],
    "max",
  ),
  ...HOME_METRICS,
  regionShare: gauge(
    "rate_limiter_region_share",
    "This region's part of limits with across: split, from 0 to 1; by rule where shares are learned, nothing without regions.",
    ["rule"],
    "max",
  ),
  regionLag: gauge(
    "rate_limiter_region_lag_seconds",
    "How old the latest counts are that another region has of this process, under across: merged.",
    ["peer"],
    "max",
  ),
  regionExchanges: counter(
    "rate_limiter_region_exchanges_total",
    "Calls that announced counts to another region under across: merged, by whether they succeeded.",
    ["peer", "outcome"],
  ),
  regionUnits: counter(
    "rate_limiter_region_units_total",
    "Units announced to another region under across: merged.",
    ["peer"],
  ),
  regionOvershoot: gauge(
    "rate_limiter_region_overshoot_units_max",
    "The most units by which a counter of another region was seen above its limit, under across: merged.",
    ["peer"],
    "max",
  ),
  regionBudgetHeld: gauge(
    "rate_limiter_region_budget_held",
    "Units in leases that this region has from the home region and that have not ended, spent or not.",
    [],
  ),
  regionHomeLeases: counter(
    "rate_limiter_region_home_leases_total",
    "Leases that this region asked the home region for: granted, or refused.",
    ["outcome"],
  ),
  regionDecisions: counter(
    "rate_limiter_region_leased_decisions_total",
    "Decisions on rules with across: leased, by what made them: the region's own budget, the home region, or the region's reserve.",
    ["by"],
  ),
  regionUnitsReturned: counter(
    "rate_limiter_region_units_returned_total",
    "Leased units that this region returned unspent. Other regions were refused early by at most as many.",
    [],
  ),
  regionHomeRefusals: counter(
    "rate_limiter_region_home_refusals_total",
    "Requests that the home region refused to this region because its count is exhausted, also by what other regions hold.",
    [],
  ),
  ledgerSeconds: histogram(
    "rate_limiter_ledger_latency_seconds",
    "How long calls to the ledger of durable rules took, failed ones included.",
    ["operation"],
  ),
  ledgerErrors: counter(
    "rate_limiter_ledger_errors_total",
    "Calls to the ledger of durable rules that failed.",
    ["operation"],
  ),
  ledgerFallbackActive: gauge(
    "rate_limiter_ledger_fallback_active",
    "1 while the circuit breaker of the ledger is open, so that durable rules decide by onStoreFailure, else 0.",
    [],
    "max",
  ),
  ledgerFallbackSeconds: counter(
    "rate_limiter_ledger_fallback_seconds_total",
    "Seconds during which the circuit breaker of the ledger was open.",
    [],
    "max",
  ),
  hotKeysDetected: counter(
    "rate_limiter_hot_keys_detected_total",
    "How often a key of a rule became hot: 500 requests in five seconds to one process.",
    ["rule"],
  ),
  trackedKeys: gauge(
    "rate_limiter_tracked_keys",
    "Distinct keys seen in the last five to ten minutes, estimated.",
    ["key_type"],
    "max",
  ),
  storeKeys: gauge("rate_limiter_store_keys", "Keys in the memory store."),
  storeBytes: gauge("rate_limiter_store_bytes", "Bytes that the memory store has allocated."),
  storeBlocks: gauge(
    "rate_limiter_store_blocks",
    "Keys that operators blocked in the memory store.",
  ),
  evictions: counter(
    "rate_limiter_store_evictions_total",
    "Live keys that the memory store evicted because it was full.",
  ),
  usageEvicted: counter(
    "rate_limiter_store_usage_evicted_total",
    "The used shares of limits that were lost with evicted keys: 1 is one full limit.",
  ),
  arenaRefusals: counter(
    "rate_limiter_store_arena_refusals_total",
    "Charges that were refused because the memory for sliding logs and permits was full.",
  ),
  ...SKETCH_METRICS,
  unsettled: counter(
    "rate_limiter_store_unsettled_total",
    "Receipts that were dropped because the shared store could not settle them.",
  ),
  lateRefunded: counter(
    "rate_limiter_store_late_refunded_total",
    "Decisions that the shared store admitted too late and that were refunded.",
  ),
  leases: counter("rate_limiter_leases_total", "Leases that were taken."),
  leaseUnits: counter(
    "rate_limiter_lease_units_total",
    "Units of leases, by what became of them: leased, spent, returned or expired.",
    ["outcome"],
  ),
  leaseReturnsFailed: counter(
    "rate_limiter_lease_returns_failed_total",
    "Leases whose return failed: what they held stays spent.",
  ),
  overshootUnits: gauge(
    "rate_limiter_overshoot_units_max",
    "The most units by which a counter under eventual consistency was seen above its limit.",
    [],
    "max",
  ),
  syncs: counter(
    "rate_limiter_syncs_total",
    "Syncs of counts under eventual consistency, by whether they succeeded.",
    ["outcome"],
  ),
  denyCacheHits: counter(
    "rate_limiter_deny_cache_hits_total",
    "Requests that were refused without asking the shared store.",
  ),
  ruleSet: gauge(
    "rate_limiter_rule_set_info",
    "1 for the version of the rules in force.",
    ["version"],
    "max",
  ),
  rules: gauge("rate_limiter_rules", "Rules in force, disabled ones included.", [], "max"),
  reloads: counter(
    "rate_limiter_reloads_total",
    "Reloads, by what was reloaded and whether it succeeded.",
    ["what", "outcome"],
  ),
  reloadFailed: gauge(
    "rate_limiter_reload_failed",
    "1 if the latest reload failed and the previous rules or settings stay in force, else 0.",
    ["what"],
    "max",
  ),
  upstream: counter(
    "rate_limiter_upstream_requests_total",
    "Requests that the gateway forwarded, by outcome, and changes in the state of backends.",
    ["upstream", "outcome"],
  ),
  ...UPSTREAM_METRICS,
  jwksFetchFailures: counter(
    "rate_limiter_jwks_fetch_failures_total",
    "Fetches of identity.jwt.jwksUrl that failed; keys that were fetched before stay in use for jwksStaleMs.",
  ),
  controlSequence: gauge(
    "rate_limiter_control_sequence",
    "The last change of the control plane that this node has applied.",
    [],
    "max",
  ),
  controlAgeSeconds: gauge(
    "rate_limiter_control_age_seconds",
    "Seconds since this node's copy of the control plane was known to be current.",
    [],
    "max",
  ),
  controlFollowers: gauge(
    "rate_limiter_control_followers",
    "Followers that are connected to this control node.",
  ),
  controlFollowersBehind: gauge(
    "rate_limiter_control_followers_behind",
    "Changes that the follower which is furthest behind has still to apply.",
    [],
    "max",
  ),
  controlChanges: counter(
    "rate_limiter_control_changes_total",
    "Changes of the control plane that this node has applied since it started.",
  ),
  controlProblems: counter(
    "rate_limiter_control_problems_total",
    "Failures to follow the control plane (feed) or to keep its state on disk (snapshot).",
    ["what"],
  ),
  webhookDeliveries: counter(
    "rate_limiter_webhook_deliveries_total",
    "Webhooks that this node sent, by what became of them: delivered, retried, failed or expired.",
    ["outcome"],
  ),
  webhooksPending: gauge(
    "rate_limiter_webhooks_pending",
    "Webhooks on their way, of all nodes.",
    [],
    "max",
  ),
  webhooksOldestSeconds: gauge(
    "rate_limiter_webhooks_oldest_seconds",
    "Seconds for which the oldest of the webhooks on their way has been so.",
    [],
    "max",
  ),
  ...CLIENT_METRICS,
  workersEnded: counter(
    "rate_limiter_workers_ended_total",
    "Worker processes that exited unexpectedly; each is replaced.",
  ),
  logLeftOut: counter(
    "rate_limiter_decision_log_left_out_total",
    "Lines of the decision log that were left out because there were too many in a second.",
  ),
} as const satisfies Record<string, MetricDefinition>;

/** The key of a metric in {@link METRICS}. */
export type MetricKey = keyof typeof METRICS;
