// The load shedding of a gateway: finds the gate of a route and the priority of a request, and answers what is shed.
// There is none, and requests pay nothing, unless the configuration has adaptive limits or circuit breakers.

import type { Clock } from "sluice";
import {
  type AdaptiveConcurrency,
  adaptiveConcurrency,
  circuitBreaker,
  type Priority,
} from "sluice/adaptive";
import type { HandledRequest, WholeResponse } from "sluice/http";
import { HEALTH_PATHS, toHealthCheck, toShedResponse } from "sluice/load-shedding";
import { type Policy, RequestPriorities } from "sluice/rules";
import type { Exchange } from "sluice-http1";
import type { Config, RouteConfig, UpstreamConfig } from "../../config/config.js";
import type { AdaptiveConfig } from "../../config/upstream-config.js";
import type { UpstreamLoad } from "../../telemetry/reported.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { GatewayHttpRequest, type GatewayRequestHost } from "../gateway-request.js";
import { GatePass, type Shed, type UpstreamBreaker, UpstreamGate } from "./upstream-gate.js";

/** What load shedding is made of. */
export interface LoadShedderOptions {
  readonly config: Pick<Config, "gateway" | "routes" | "upstreams" | "responses">;
  readonly policy: Policy;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly host: GatewayRequestHost;
}

/** The random part of Retry-After where the configuration has none, so that not all clients come back together. */
const JITTER_MS = 1_000;

/** Sheds load of one gateway. */
export class LoadShedder {
  readonly #gates = new Map<RouteConfig, UpstreamGate>();
  readonly #loads: (() => UpstreamLoad)[] = [];
  readonly #policy: Policy;
  readonly #host: GatewayRequestHost;
  readonly #telemetry: Telemetry;
  readonly #isHealthCheck: (method: string, target: string) => boolean;
  readonly #jitterMsMax: number;
  #priorities: RequestPriorities;
  #prioritiesOf: Policy["rules"];

  /** Undefined if the configuration has neither adaptive limits nor circuit breakers. */
  static of(options: LoadShedderOptions): LoadShedder | undefined {
    const { routes, upstreams } = options.config;
    const isUsed =
      routes.some(({ adaptive }) => adaptive !== undefined) ||
      [...upstreams.values()].some(({ adaptive, breaker }) => (adaptive ?? breaker) !== undefined);
    return isUsed ? new LoadShedder(options) : undefined;
  }

  private constructor({ config, policy, clock, telemetry, host }: LoadShedderOptions) {
    this.#policy = policy;
    this.#host = host;
    this.#telemetry = telemetry;
    this.#isHealthCheck = toHealthCheck(config.gateway?.healthPaths ?? HEALTH_PATHS);
    this.#jitterMsMax = config.responses.retryAfterJitterMs || JITTER_MS;
    this.#prioritiesOf = policy.rules;
    this.#priorities = new RequestPriorities(policy.rules);
    const byUpstream = new Map<string, GateParts>();
    for (const upstream of config.upstreams.values()) {
      byUpstream.set(upstream.name, this.#toParts(upstream, clock));
    }
    for (const route of config.routes) this.#addRoute(route, byUpstream.get(route.upstream), clock);
    telemetry.loads.watch(() => this.#loads.map((read) => read()));
  }

  /** Whether anything is in front of a route. */
  isBefore(route: RouteConfig): boolean {
    return this.#gates.has(route);
  }

  /**
   * Lets a request of a route pass; a response if it is shed; undefined if nothing is in front of the route.
   *
   * @param path - In canonical form, without the query.
   */
  enter(
    route: RouteConfig,
    exchange: Exchange,
    path: string,
    handled: HandledRequest,
  ): GatePass | WholeResponse | undefined {
    const gate = this.#gates.get(route);
    if (gate === undefined || this.#isHealthCheck(exchange.method, path)) return undefined;
    const passed = gate.enter(this.#priorityOf(exchange, path, handled));
    if (!(passed instanceof GatePass)) return this.#answer(passed);
    if (exchange.body?.isComplete === false) passed.awaitBody();
    return passed;
  }

  #answer({ reason, retryAfterMs }: Shed): WholeResponse {
    const response = toShedResponse(reason, { retryAfterMs, jitterMsMax: this.#jitterMsMax });
    this.#telemetry.refused("gateway", response.status);
    return response;
  }

  #priorityOf(exchange: Exchange, path: string, handled: HandledRequest): Priority {
    const { rules } = this.#policy;
    if (rules !== this.#prioritiesOf) {
      this.#prioritiesOf = rules;
      this.#priorities = new RequestPriorities(rules);
    }
    const toFacts = () => {
      const request = new GatewayHttpRequest(exchange, path, this.#host);
      return this.#policy.complete(this.#host.requestHandler.factsOf(request, handled));
    };
    return this.#priorities.of(toFacts, this.#host.isPeerTrusted(exchange.peer)).priority;
  }

  #toParts({ name, adaptive, breaker }: UpstreamConfig, clock: Clock): GateParts {
    const limit = adaptive && toLimit(adaptive, clock);
    const made = breaker && this.#toBreaker(name, breaker, clock);
    if ((limit ?? made) !== undefined) this.#loads.push(() => toLoad(name, null, limit, made));
    return { limit, breaker: made };
  }

  #toBreaker(
    upstream: string,
    options: NonNullable<UpstreamConfig["breaker"]>,
    clock: Clock,
  ): UpstreamBreaker {
    const { log } = this.#telemetry;
    const breaker = circuitBreaker({
      ...options,
      clock,
      onOpen: (failure) => log.warn({ upstream, failure }, "upstream keeps failing; circuit open"),
      onClose: () => log.info({ upstream }, "upstream answers again; circuit closed"),
    });
    return { breaker, refused: { critical: 0, high: 0, normal: 0, low: 0 } };
  }

  #addRoute(route: RouteConfig, parts: GateParts | undefined, clock: Clock): void {
    const { upstream, path, adaptive } = route;
    const own = adaptive && toLimit(adaptive, clock);
    if (own !== undefined) this.#loads.push(() => toLoad(upstream, path, own, undefined));
    const limits = [own, parts?.limit].filter((limit) => limit !== undefined);
    if (limits.length === 0 && parts?.breaker === undefined) return;
    this.#gates.set(route, new UpstreamGate(limits, parts?.breaker));
  }
}

interface GateParts {
  readonly limit: AdaptiveConcurrency | undefined;
  readonly breaker: UpstreamBreaker | undefined;
}

function toLimit(config: AdaptiveConfig, clock: Clock): AdaptiveConcurrency {
  return adaptiveConcurrency({ ...config, clock });
}

/** How an upstream or a route stands, for metrics and `sluice top`. */
function toLoad(
  upstream: string,
  route: string | null,
  limit: AdaptiveConcurrency | undefined,
  made: UpstreamBreaker | undefined,
): UpstreamLoad {
  const stats = limit?.stats();
  return {
    upstream,
    route,
    limit: stats?.limit ?? null,
    inFlight: stats?.inFlight ?? null,
    latencyMs: stats?.latencyMs ?? null,
    shed: stats?.shed ?? null,
    breaker: made?.breaker.state ?? null,
    breakerShed: made === undefined ? null : { ...made.refused },
  };
}
