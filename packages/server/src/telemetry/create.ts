// The telemetry of a process: makes the parts and hands each report to those that it is for.

import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import type { FallbackEvent, HotKeyEvent, Store } from "sluice";
import type { DecidedCharge, Facts, PolicyDecision, PolicyEvent, Rule } from "sluice/rules";
import type { TelemetryConfig } from "../config/config.js";
import { Latency } from "./latency.js";
import { RuleMeters } from "./rule-meters.js";
import { addMetric } from "./sampled-metric.js";
import type { DoorName, Telemetry } from "./telemetry.js";

/** What tests bring along. */
export interface TelemetryOptions {
  /** Where log lines go. Default: standard output. */
  readonly destination?: { write(line: string): void };
}

/** Logs and metrics of a process; see {@link Telemetry}. */
export function createTelemetry(
  config: TelemetryConfig,
  options: TelemetryOptions = {},
): Telemetry {
  return new ServiceTelemetry(config, options);
}

class ServiceTelemetry implements Telemetry {
  readonly log: Logger;
  readonly #registry = new Registry();
  readonly #meters = new RuleMeters();
  readonly #latencies = new Map<DoorName, Latency>();
  readonly #refusals = new Map<string, { labels: Record<string, string>; value: number }>();

  constructor(config: TelemetryConfig, { destination }: TelemetryOptions) {
    const setup = { level: config.logLevel, base: { region: config.region } };
    this.log = destination === undefined ? pino(setup) : pino(setup, destination);
    this.#registry.setDefaultLabels({ region: config.region });
    this.#addMetrics();
  }

  decided(_door: DoorName, decision: PolicyDecision, _facts: Facts): void {
    decision.eachCharge((rule, charge) => this.#count(rule, charge, decision));
  }

  tookMs(door: DoorName, ms: number): void {
    let latency = this.#latencies.get(door);
    if (latency === undefined) {
      latency = new Latency();
      this.#latencies.set(door, latency);
    }
    latency.observeMs(ms);
  }

  refused(door: DoorName, status: number): void {
    const name = `${door} ${status}`;
    const known = this.#refusals.get(name);
    if (known === undefined) {
      this.#refusals.set(name, { labels: { door, status: String(status) }, value: 1 });
    } else known.value++;
  }

  policyEvent(event: PolicyEvent): void {
    this.log.info({ event: event.kind }, "policy");
  }

  fallbackEvent(event: FallbackEvent): void {
    this.log.warn({ event: event.kind, reason: event.reason }, "fallback");
  }

  hotKeyEvent(event: HotKeyEvent): void {
    this.log.debug({ event: event.kind, rule: event.scope }, "hot key");
  }

  reloaded(what: "rules" | "config" | "envoy", error?: unknown): void {
    if (error === undefined) this.log.info({ what }, "reloaded");
    else this.log.error({ what, err: error }, "reload failed; what was in force stays");
  }

  measured(store: Store): Store {
    return store;
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  #count(rule: Rule, { shadow, verdict }: DecidedCharge, decision: PolicyDecision): void {
    const meter = this.#meters.of(rule);
    if (shadow) return;
    if (decision.allowed) meter.allowed++;
    else if (!verdict.allowed) meter.blocked[decision.reason ?? "limit"]++;
  }

  #addMetrics(): void {
    const meters = this.#meters;
    const latencies = this.#latencies;
    const refusals = this.#refusals;
    addMetric(
      this.#registry,
      {
        name: "rate_limiter_allowed_total",
        help: "Requests that a rule counted and that were admitted.",
        type: "counter",
        labels: ["rule", "endpoint", "key_type", "outcome"],
      },
      function* () {
        for (const { rule, endpoint, keyType, allowed } of meters) {
          const labels = { rule, endpoint, key_type: keyType, outcome: "allowed" };
          yield { labels, value: allowed };
        }
      },
    );
    addMetric(
      this.#registry,
      {
        name: "rate_limiter_blocked_total",
        help: "Requests that a rule refused.",
        type: "counter",
        labels: ["rule", "endpoint", "key_type", "outcome"],
      },
      function* () {
        for (const { rule, endpoint, keyType, blocked } of meters) {
          for (const [outcome, value] of Object.entries(blocked)) {
            yield { labels: { rule, endpoint, key_type: keyType, outcome }, value };
          }
        }
      },
    );
    addMetric(
      this.#registry,
      {
        name: "http_429_total",
        help: "Responses with status 429.",
        type: "counter",
        labels: ["door"],
      },
      function* () {
        for (const { labels, value } of refusals.values()) {
          if (labels.status === "429") yield { labels: { door: labels.door }, value };
        }
      },
    );
    addMetric(
      this.#registry,
      {
        name: "rate_limiter_decision_seconds",
        help: "How long decisions took.",
        type: "histogram",
        labels: ["door"],
      },
      function* () {
        for (const [door, latency] of latencies) {
          yield* latency.samples("rate_limiter_decision_seconds", { door });
        }
      },
    );
  }
}
