// The guard of a NestJS application: takes requests through the door of the place that they are for.

import type { IncomingMessage, ServerResponse } from "node:http";
import { type CanActivate, type ExecutionContext, Inject, Injectable } from "@nestjs/common";
import { Reflector } from "@nestjs/core";
import { andThen, type MaybePromise } from "../../maybe-promise.js";
import { readNodeBody } from "../body/node.js";
import { type BodyBounds, type BodyFields, toFields } from "../body.js";
import { BODY_FIELDS, withoutFields } from "../fields.js";
import { passNode, setFields } from "../node/exchange.js";
import type { Passage, RateLimitInfo } from "../passage.js";
import type { RequestView } from "../request-view.js";
import { OWN_LIMIT, type OwnLimit, SKIPPED } from "./decorators.js";
import { NestLimits } from "./limits.js";
import { RateLimitException } from "./refusal.js";

/** A request and its response, as the platform has them: Express or Fastify. */
export interface NestExchange {
  readonly req: object;
  readonly res: object;
}

/** What a request has behind the guard, beside what it has of its platform. */
export interface LimitedRequest {
  /** What was decided. */
  readonly rateLimit: RateLimitInfo;
}

/**
 * Guards routes: `@UseGuards(RateLimitGuard)`, or all of them as `APP_GUARD`. Handlers find what was
 * decided in `request.rateLimit`. What does not come by HTTP passes.
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
    const exchange = this.getRequestResponse(context);
    if (exchange === undefined) return true;
    const places = [context.getHandler(), context.getClass()];
    if (this.#reflector.getAllAndOverride<boolean | undefined>(SKIPPED, places) === true)
      return true;
    const own = this.#reflector.getAllAndOverride<OwnLimit | undefined>(OWN_LIMIT, places);
    const response = toRaw<ServerResponse>(exchange.res);
    const view = new NestView(exchange.req, response);
    const passed = passNode(this.#limits.doorOf(own), view, response, refuse);
    return andThen(passed, (passage) => {
      if (passage === undefined) return false;
      (exchange.req as { rateLimit?: Passage }).rateLimit = passage;
      return true;
    });
  }

  /** Where a request is found; undefined lets it pass. To be overridden for GraphQL and the like. */
  protected getRequestResponse(context: ExecutionContext): NestExchange | undefined {
    if (context.getType() !== "http") return undefined;
    const http = context.switchToHttp();
    return { req: http.getRequest<object>(), res: http.getResponse<object>() };
  }
}
Injectable()(RateLimitGuard);
Inject(NestLimits)(RateLimitGuard, undefined, 0);
Inject(Reflector)(RateLimitGuard, undefined, 1);

function refuse(passage: Passage, response: ServerResponse): void {
  const { refusal } = passage;
  if (refusal === undefined) return;
  setFields(response, withoutFields(refusal.fields, BODY_FIELDS));
  throw new RateLimitException(passage, refusal);
}

/** Fastify keeps the request of `node:http` inside its own; Express extends it. */
function toRaw<T>(outer: object): T {
  return ((outer as { raw?: object }).raw ?? outer) as T;
}

/** A request of either platform. */
export class NestView implements RequestView {
  readonly raw: object;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse | undefined;

  constructor(request: object, response?: ServerResponse) {
    this.raw = request;
    this.#response = response;
    this.#request = toRaw(request);
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }

  get target(): string {
    return (this.raw as { originalUrl?: string }).originalUrl ?? this.#request.url ?? "/";
  }

  get headers(): RequestView["headers"] {
    return this.#request.headers;
  }

  get peer(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    const { body } = this.raw as { body?: unknown };
    if (body !== undefined && body !== null) return toFields(body);
    return readNodeBody(this.#request, bounds, this.#response);
  }
}
