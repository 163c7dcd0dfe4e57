// Where requests enter the gateway: the target is brought into its canonical form, the request handler decides, and the
// request is forwarded, refused or answered. A malformed request never reaches the rules, and its connection is closed.

import {
  HandledRequest,
  type ReportCaller,
  type RequestHandler,
  type WholeResponse,
} from "sluice/http";
import { type Exchange, type RequestTarget, readRequestTarget } from "sluice-http1";
import { readMs } from "../base/clock.js";
import { RefusalSender } from "../base/http/send-reply.js";
import { Forwarding, type ForwardingHost } from "./forward/forward.js";
import { toRequestEnd } from "./forward/request-end.js";
import { answer, kindOfError, type ProblemStatus, toProblem } from "./gateway-replies.js";
import { GatewayHttpRequest } from "./gateway-request.js";

/** What the dispatcher needs from the gateway. */
export interface DispatcherHost extends ForwardingHost {
  readonly requestHandler: RequestHandler;
  /** The path where callers can read their remaining limit; undefined: none. */
  readonly rateLimitPath: string | undefined;
  /** The path where tenants can read what they used; undefined: none. */
  readonly usagePath: string | undefined;
  /** Answers what a tenant used. */
  readonly reportUsage: ReportCaller;
}

/** Decides requests, and forwards or answers them. */
export class RequestDispatcher {
  readonly #host: DispatcherHost;
  readonly #refusals = new RefusalSender();

  constructor(host: DispatcherHost) {
    this.#host = host;
  }

  take(exchange: Exchange): void {
    const target = readRequestTarget(exchange.target, exchange.method, exchange.fields.host);
    const problem = target === undefined ? 400 : this.#problemOf(exchange);
    if (problem === undefined) this.#enter(exchange, target as RequestTarget);
    else answer(exchange, toProblem(problem), "", true);
  }

  /** What is wrong with a request whose target is valid. */
  #problemOf({ fields }: Exchange): ProblemStatus | undefined {
    const { bodyBytesMax } = this.#host;
    if (bodyBytesMax !== 0 && fields.length > bodyBytesMax) return 413;
    return fields.expect === "" || fields.expect === "100-continue" ? undefined : 417;
  }

  #enter(exchange: Exchange, { path, target }: RequestTarget): void {
    const { method } = exchange;
    // What is matched and counted is what is forwarded.
    exchange.target = target;
    if (exchange.asksForWebSocket) {
      // What the client sends next may not be HTTP, so if the upgrade fails the connection is closed.
      exchange.closes = true;
      this.#decide(exchange, path);
    } else if (path === this.#host.rateLimitPath && (method === "GET" || method === "HEAD")) {
      this.#reportStatus(exchange);
    } else if (path === this.#host.usagePath && (method === "GET" || method === "HEAD")) {
      this.#reportStatus(exchange, this.#host.reportUsage);
    } else this.#decide(exchange, path);
  }

  #decide(exchange: Exchange, path: string): void {
    const startMs = readMs();
    const request = new GatewayHttpRequest(exchange, path, this.#host);
    let handling: HandledRequest | Promise<HandledRequest>;
    try {
      handling = this.#host.requestHandler.handle(request);
    } catch (error) {
      this.#fail(exchange, error);
      return;
    }
    if (handling instanceof HandledRequest) this.#goOn(request, handling, startMs);
    else {
      handling.then(
        (handled) => this.#goOn(request, handled, startMs),
        (error) => this.#fail(exchange, error),
      );
    }
  }

  /** Never throws: an error that is thrown here would end the process. */
  #goOn(request: GatewayHttpRequest, handled: HandledRequest, startMs: number): void {
    const { raw: exchange } = request;
    const fail = (error: unknown) => {
      this.#fail(exchange, error);
      // Unless forwarding has begun, which settles what is held when the exchange is over.
      if (exchange.watcher === undefined && handled.isHeld) {
        void handled.finish(toRequestEnd(exchange, undefined, 0, undefined));
      }
    };
    try {
      this.#forwardOrRefuse(request, handled, startMs)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #forwardOrRefuse(
    request: GatewayHttpRequest,
    handled: HandledRequest,
    startMs: number,
  ): Promise<void> | undefined {
    const { telemetry } = this.#host;
    const { raw: exchange, path } = request;
    request.handled = handled;
    telemetry.decided("gateway", handled.decision, request, readMs() - startMs);
    const { refusal } = handled;
    if (refusal === undefined) return new Forwarding(this.#host, exchange, path, handled).start();
    telemetry.refused("gateway", refusal.status);
    if (!exchange.isGone) this.#refusals.send(exchange, refusal, handled.lines);
    return undefined;
  }

  #reportStatus(exchange: Exchange, report?: ReportCaller): void {
    const request = new GatewayHttpRequest(exchange, exchange.target, this.#host);
    (async () => this.#host.requestHandler.status(request, report))()
      .then((reply) => {
        if (reply.status !== 200) this.#host.telemetry.refused("gateway", reply.status);
        this.#answer(exchange, reply, "");
      })
      .catch((error) => this.#fail(exchange, error));
  }

  /** A request that the rules could not decide is not let through. */
  #fail(exchange: Exchange, error: unknown): void {
    const kind = kindOfError(error);
    const { telemetry } = this.#host;
    // Two different lines of the log: an unavailable store must not hide a fault of the gateway.
    const what = kind === "store" ? "the store decided nothing" : "a request could not be decided";
    // An id that was used before is its client's mistake, and no problem of the service.
    if (kind === 409) telemetry.refused("gateway", kind);
    else telemetry.problem(what, error);
    if (!exchange.isAnswered) this.#answer(exchange, toProblem(kind), "");
    else if (!exchange.isEnded) exchange.breakOff();
  }

  #answer(exchange: Exchange, reply: WholeResponse, lines: string): void {
    if (!exchange.isGone) answer(exchange, reply, lines, false);
  }
}
