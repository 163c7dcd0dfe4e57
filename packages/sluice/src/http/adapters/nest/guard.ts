// The guard of a NestJS application: decides each request under the limits of its scope.

import type { ServerResponse } from "node:http";
import { type CanActivate, type ExecutionContext, Inject, Injectable } from "@nestjs/common";
import { Reflector } from "@nestjs/core";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { handleNodeRequest, setFields } from "../../exchange/node/node-exchange.js";
import type { HandledRequest, RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { Refusal } from "../../response/refusal.js";
import { BODY_FIELDS, withoutFields } from "../../response/response-headers.js";
import { OWN_LIMIT, SKIPPED, type Skipped } from "./decorators.js";
import type { NestCall } from "./limit-scope.js";
import { NestLimits } from "./module-limits.js";
import type { OwnLimit } from "./nest-options.js";
import { RateLimitException } from "./nest-refusal.js";
import { NestHttpRequest, toRaw } from "./nest-request.js";

/** A request and its response, as the platform has them: Express or Fastify. */
export interface NestExchange {
  readonly req: object;
  readonly res: object;
}

/** What the guard adds to the platform's request. */
export interface LimitedRequest {
  /** What was decided. */
  readonly rateLimit: RateLimitInfo;
}

/**
 * Guards routes: `@UseGuards(RateLimitGuard)`, or all of them as `APP_GUARD`. Handlers find what was
 * decided in `request.rateLimit`. Calls that are not HTTP pass.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: NestLimits;
  readonly #reflector: Reflector;

  constructor(limits: NestLimits, reflector: Reflector) {
    this.#limits = limits;
    this.#reflector = reflector;
  }

  /** True if the request may go on; throws a {@link RateLimitException} if it is refused. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return andThen(this.shouldSkip(context), (isSkipped) =>
      isSkipped ? true : this.handleRequest(context),
    );
  }

  /** Lets requests pass uncounted. Override it; default: none. */
  protected shouldSkip(_context: ExecutionContext): MaybePromise<boolean> {
    return false;
  }

  /**
   * Who the caller is, in place of the dimensions of `key`; undefined leaves the request uncounted. Only
   * called if a subclass overrides it. A `key` that is a function goes before it.
   */
  protected getTracker(
    request: object,
    _context: ExecutionContext,
  ): MaybePromise<string | undefined> {
    return (request as { ip?: string }).ip;
  }

  /**
   * Decides a request under all its limits, in one call: true if it may go on. Override it to limit calls
   * that are not HTTP, with a limiter of your own.
   */
  protected handleRequest(context: ExecutionContext): boolean | Promise<boolean> {
    const exchange = this.getRequestResponse(context);
    if (exchange === undefined) return true;
    const found = this.#findHandler(context, exchange.req);
    return andThen(
      found,
      (requestHandler) =>
        requestHandler === undefined || this.#handle(requestHandler, context, exchange),
    );
  }

  /** Throws for a refused request: `exception`, unless it is overridden. A guard that returns refuses with 403. */
  protected throwThrottlingException(
    _context: ExecutionContext,
    exception: RateLimitException,
  ): MaybePromise<void> {
    throw exception;
  }

  /** Where a request is found; undefined lets it pass. Override it for GraphQL and the like. */
  protected getRequestResponse(context: ExecutionContext): NestExchange | undefined {
    if (context.getType() !== "http") return undefined;
    const http = context.switchToHttp();
    return { req: http.getRequest<object>(), res: http.getResponse<object>() };
  }

  /** The request handler of the limits that hold for a request; undefined if none does. */
  #findHandler(
    context: ExecutionContext,
    request: object,
  ): MaybePromise<RequestHandler | undefined> {
    const handler = context.getHandler();
    const scopes = [handler, context.getClass()];
    const skipped = scopes.map((scope) => this.#reflector.get<Skipped | undefined>(SKIPPED, scope));
    const own = this.#reflector.getAllAndOverride<OwnLimit | undefined>(OWN_LIMIT, scopes);
    const scope = this.#limits.scopeOf(own);
    if (scope === undefined)
      return isSkippedAt(skipped, "") ? undefined : this.#limits.requestHandler;
    return scope.handlerFor((label) => isSkippedAt(skipped, label), request, this.#toCall(context));
  }

  #toCall(context: ExecutionContext): NestCall {
    const isTracked = this.getTracker !== RateLimitGuard.prototype.getTracker;
    const trackerOf = (request: object) => this.getTracker(request, context);
    return { context, trackerOf: isTracked ? trackerOf : undefined };
  }

  #handle(
    requestHandler: RequestHandler,
    context: ExecutionContext,
    { req, res }: NestExchange,
  ): MaybePromise<boolean> {
    const response = toRaw<ServerResponse>(res);
    const httpRequest = new NestHttpRequest(req, response, this.#toCall(context));
    let exception: RateLimitException | undefined;
    const passed = handleNodeRequest(requestHandler, httpRequest, response, (handled) => {
      exception = toException(handled, response);
    });
    return andThen(passed, (handled) => {
      if (exception !== undefined) {
        return andThen(this.throwThrottlingException(context, exception), () => false);
      }
      if (handled === undefined) return false;
      (req as { rateLimit?: HandledRequest }).rateLimit = handled;
      return true;
    });
  }
}
Injectable()(RateLimitGuard);
Inject(NestLimits)(RateLimitGuard, undefined, 0);
Inject(Reflector)(RateLimitGuard, undefined, 1);

/** The decorator of the handler, or else of its controller. */
function isSkippedAt(said: readonly (Skipped | undefined)[], label: string): boolean {
  for (const skipped of said) {
    const answer = typeof skipped === "object" ? skipped[label] : skipped;
    if (answer !== undefined) return answer;
  }
  return false;
}

/** The refusal as an exception; its headers are set on the response. */
function toException(handled: HandledRequest, response: ServerResponse): RateLimitException {
  const refusal = handled.refusal as Refusal;
  setFields(response, withoutFields(refusal.fields, BODY_FIELDS));
  return new RateLimitException(handled, refusal);
}
