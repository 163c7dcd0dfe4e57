// Forward-auth: other proxies ask whether a request is allowed before they forward it. 204 allows it, 429 with a problem
// body refuses it, and both carry the RateLimit headers. Everything but 204 is a refusal, even the answer
// to a malformed request, and carries its status in X-Sluice-Status too: the header sets our refusals apart from a
// proxy's own errors, and gives nginx, which knows no refusal but 403, the real status.

import {
  createRequestHandler,
  HandledRequest,
  type IdentityOptions,
  type RequestHandler,
  type WholeResponse,
} from "sluice/http";
import type { Policy } from "sluice/rules";
import type { Exchange } from "sluice-http1";
import { readMs } from "../../base/clock.js";
import { ServerError, show } from "../../base/errors.js";
import { isLoopback } from "../../base/http/loopback.js";
import { type Problem, toProblemBody, toRawProblem } from "../../base/http/problem.js";
import { RefusalSender } from "../../base/http/send-reply.js";
import { TrustedProxies } from "../../base/http/trusted-proxies.js";
import { isUpstreamHost } from "../../base/http/web-page.js";
import type { Core } from "../../core/core.js";
import { sendJson, toProblem, toPublicProblem } from "../json-response.js";
import { ForwardedRequest, toIdentity, type Variant } from "./forwarded-request.js";

const VARIANTS: ReadonlyMap<string, Variant> = new Map([
  ["/check", "forwarded"],
  ["/check/nginx", "nginx"],
]);

/** On everything but 204. */
const STATUS_FIELD = "X-Sluice-Status";
const NGINX_DENIED = 403;

/** The variant of a path; undefined if the path is not one of forward-auth. */
export function variantAt(path: string): Variant | undefined {
  return VARIANTS.get(path);
}

/** The whole response to a malformed request. */
export function toRawAnswer(problem: Problem, variant: Variant): string {
  return toRawProblem(
    { ...problem, status: statusFor(problem.status, variant) },
    statusLine(problem),
  );
}

/** Answers proxies. */
export class ForwardAuth {
  readonly #core: Core;
  readonly #requestHandlers: Readonly<Record<Variant, RequestHandler>>;
  readonly #refusals: Readonly<Record<Variant, RefusalSender>> = {
    forwarded: new RefusalSender((refusal) => toReply(refusal, "forwarded")),
    nginx: new RefusalSender((refusal) => toReply(refusal, "nginx")),
  };
  readonly #trusted: TrustedProxies;
  readonly #clientAddress: IdentityOptions["clientAddress"];
  #hasWarned = false;

  constructor(core: Core, policy: Policy) {
    this.#core = core;
    const { identity, responses } = core.config;
    const onError = (error: unknown) => core.telemetry.problem("forward-auth: an error", error);
    const openFor = (variant: Variant) =>
      createRequestHandler(policy, {
        ...responses,
        identity: toIdentity(variant, identity),
        onError,
      });
    this.#requestHandlers = { forwarded: openFor("forwarded"), nginx: openFor("nginx") };
    this.#trusted = new TrustedProxies(identity.trustedProxies ?? []);
    this.#clientAddress = identity.clientAddress;
  }

  /** Answers a proxy, whichever method it uses. Never throws. */
  answer(exchange: Exchange, variant: Variant): void {
    const startMs = readMs();
    const finish = (handled: HandledRequest) => {
      const ms = readMs() - startMs;
      this.#send(exchange, request as ForwardedRequest, variant, handled, ms);
    };
    let request: ForwardedRequest | undefined;
    try {
      this.#mustBeTrusted(exchange.peer);
      this.#mustBeAProxy(exchange);
      const handler = this.#requestHandlers[variant];
      request = new ForwardedRequest(exchange, variant, this.#clientAddress, handler);
      const passed = handler.handle(request);
      if (passed instanceof HandledRequest) finish(passed);
      else passed.then(finish).catch((error) => this.#fail(exchange, error, variant));
    } catch (error) {
      this.#fail(exchange, error, variant);
    }
  }

  #send(
    exchange: Exchange,
    request: ForwardedRequest,
    variant: Variant,
    handled: HandledRequest,
    ms: number,
  ): void {
    const { telemetry } = this.#core;
    const { decision, lines, refusal } = handled;
    request.handled = handled;
    telemetry.decided("forward-auth", decision, request, ms);
    if (exchange.isGone) return;
    if (refusal === undefined) {
      exchange.reply(204, `${lines}Cache-Control: no-store\r\n`, "");
      return;
    }
    telemetry.refused("forward-auth", refusal.status);
    this.#refusals[variant].send(exchange, refusal, lines);
  }

  #mustBeTrusted(peer: string | undefined): void {
    if (this.#trusted.has(peer)) return;
    this.#forbid(`${show(peer)} asks, which is not among identity.trustedProxies`);
  }

  /**
   * Refuses web pages (DNS rebinding): a page whose name resolves to this machine can set any header but Host, which
   * the browser writes. Origin does not help: a proxy passes on its client's.
   */
  #mustBeAProxy({ peer, fields: { host } }: Exchange): void {
    if (isUpstreamHost(host) || (peer !== undefined && !isLoopback(peer))) return;
    const rule =
      "the Host of a proxy on this machine must be an address, localhost or a name without dots";
    this.#forbid(`${rule}, got ${show(host)}`);
  }

  #forbid(seen: string): never {
    if (!this.#hasWarned) this.#core.telemetry.log.warn(`forward-auth: ${seen}`);
    this.#hasWarned = true;
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  #fail(exchange: Exchange, error: unknown, variant: Variant): void {
    if (toProblem(error) === undefined) {
      this.#core.telemetry.problem("forward-auth: a request failed", error);
    }
    const problem = toPublicProblem(error);
    if (exchange.isGone) return;
    const status = statusFor(problem.status, variant);
    sendJson(exchange, status, toProblemBody({ ...problem, status }), statusLine(problem));
  }
}

function toReply({ status, fields, body }: WholeResponse, variant: Variant): WholeResponse {
  return {
    status: statusFor(status, variant),
    fields: [...fields, STATUS_FIELD, `${status}`],
    body,
  };
}

function statusFor(status: number, variant: Variant): number {
  return variant === "nginx" ? NGINX_DENIED : status;
}

function statusLine({ status }: Problem): string {
  return `${STATUS_FIELD}: ${status}\r\n`;
}
