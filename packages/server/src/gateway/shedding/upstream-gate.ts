// What stands between requests and an upstream that may be overloaded or down: the circuit breaker of the upstream, the
// adaptive limit of the route and that of the upstream. A request passes all of them or is shed.

import {
  type AdaptiveConcurrency,
  type AdaptivePermit,
  type CircuitBreaker,
  NO_TICKET,
  type PermitOutcome,
  type Priority,
} from "sluice/adaptive";
import type { ShedReason } from "sluice/load-shedding";
import type { FailureKind, UpstreamFailure } from "../upstream/upstream-caller.js";

/** A request that was shed. */
export interface Shed {
  readonly reason: ShedReason;
  readonly retryAfterMs: number;
}

/** A circuit breaker, and what it refused so far. */
export interface UpstreamBreaker {
  readonly breaker: CircuitBreaker;
  readonly refused: Record<Priority, number>;
}

/** The gate of the requests of one route. */
export class UpstreamGate {
  readonly #limits: readonly AdaptiveConcurrency[];
  readonly #upstreamBreaker: UpstreamBreaker | undefined;

  /** @param limits - In the order in which they are asked. */
  constructor(limits: readonly AdaptiveConcurrency[], breaker: UpstreamBreaker | undefined) {
    this.#limits = limits;
    this.#upstreamBreaker = breaker;
  }

  /** Lets a request pass, which then has to report how it ended; or sheds it. */
  enter(priority: Priority): GatePass | Shed {
    const breaker = this.#upstreamBreaker?.breaker;
    const ticket = breaker?.ask() ?? NO_TICKET;
    if (breaker !== undefined && ticket === NO_TICKET) return this.#refuse(breaker, priority);
    const permits: AdaptivePermit[] = [];
    for (const limit of this.#limits) {
      const permit = limit.acquire({ priority });
      if (!permit.allowed) {
        for (const held of permits) held.release("ignored");
        breaker?.abandon(ticket);
        return { reason: "overloaded", retryAfterMs: permit.retryAfterMs };
      }
      permits.push(permit);
    }
    return new GatePass(permits, breaker, ticket);
  }

  #refuse({ retryAfterMs }: CircuitBreaker, priority: Priority): Shed {
    if (this.#upstreamBreaker !== undefined) this.#upstreamBreaker.refused[priority]++;
    return { reason: "circuit-open", retryAfterMs };
  }
}

/** Statuses that say that there is no backend which could answer, and not that this request went wrong. */
const DOWN: ReadonlySet<number> = new Set([502, 503, 504]);

const OUTCOMES: Readonly<Record<FailureKind, PermitOutcome>> = {
  connect: "error",
  tls: "error",
  "connect-timeout": "timeout",
  busy: "dropped",
  closed: "error",
  broken: "error",
  "response-timeout": "timeout",
  "idle-timeout": "timeout",
};

/** A request that passed. The first report counts. */
export class GatePass {
  readonly #permits: readonly AdaptivePermit[];
  readonly #breaker: CircuitBreaker | undefined;
  readonly #ticket: number;
  /** Whether the client is still sending its body. Until it is here, the time is the client's and not the backend's. */
  #isBodyAwaited = false;

  constructor(
    permits: readonly AdaptivePermit[],
    breaker: CircuitBreaker | undefined,
    ticket: number,
  ) {
    this.#permits = permits;
    this.#breaker = breaker;
    this.#ticket = ticket;
  }

  /** The client is still sending its body. */
  awaitBody(): void {
    this.#isBodyAwaited = true;
  }

  /** The backend has the whole body: from now on it is the backend that takes time. */
  bodySent(): void {
    if (!this.#isBodyAwaited) return;
    this.#isBodyAwaited = false;
    for (const permit of this.#permits) permit.restart();
  }

  /** The head of the response is here. What follows takes a client's time, not the backend's. */
  answered(status: number): void {
    this.#release(status === 503 ? "dropped" : status >= 500 ? "error" : "ok");
    if (DOWN.has(status)) this.#breaker?.fail(this.#ticket, `status ${status}`);
    else this.#breaker?.succeed(this.#ticket);
  }

  /**
   * There is no response. The breaker learns nothing from a request that never reached its backend: clients that hold all
   * connections, as with WebSockets, must not open it for others.
   */
  failed({ kind, isStale }: Pick<UpstreamFailure, "kind" | "isStale">): void {
    this.#release(isStale ? "ignored" : OUTCOMES[kind]);
    if (isStale || kind === "busy") this.#breaker?.abandon(this.#ticket);
    else this.#breaker?.fail(this.#ticket, kind);
  }

  /** There is no response because of the client. */
  left(): void {
    this.#release("abandoned");
    this.#breaker?.abandon(this.#ticket);
  }

  #release(outcome: PermitOutcome): void {
    const isOfClient = this.#isBodyAwaited && (outcome === "ok" || outcome === "abandoned");
    for (const permit of this.#permits) permit.release(isOfClient ? "ignored" : outcome);
  }
}
