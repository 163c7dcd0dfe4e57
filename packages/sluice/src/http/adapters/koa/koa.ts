/**
 * Rate limits for Koa.
 *
 * @module
 */

import type { Context, Middleware, Next } from "koa";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import type { KoaOptions } from "../../compat/koa-ratelimit/koa-options.js";
import { type KoaSetup, toKoaSetup } from "../../compat/koa-ratelimit/koa-setup.js";
import { handleNodeRequest } from "../../exchange/node/node-exchange.js";
import { toRequestHandler } from "../../handler/create-handler.js";
import type { HandledRequest, RateLimitInfo } from "../../handler/handled-request.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { type BodyBounds, type BodyFields, toFields } from "../../identity/body/body.js";
import { readNodeBody } from "../../identity/body/node-body.js";
import type { HttpRequest } from "../../identity/http-request.js";
import type { WholeResponse } from "../../response/refusal.js";
import { eachField } from "../../response/response-headers.js";

export type * from "../../adapter-types.js";
export type {
  KoaFieldNames,
  KoaOptions,
  Milliseconds,
} from "../../compat/koa-ratelimit/koa-options.js";

/** What handlers find in `ctx.state`: `new Koa<RateLimitState>()`. */
export interface RateLimitState {
  rateLimit: RateLimitInfo;
}

/** A middleware for `app.use`. Handlers find what was decided in `ctx.state.rateLimit`. */
export interface KoaRateLimit extends Middleware {
  /** Answers `GET /rate_limit`: the caller's state under every rule, without counting. */
  status(ctx: Context): MaybePromise<void>;
  readonly policy: Policy;
  /** Closes a policy that was made for this middleware; one that was passed in stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy, options?: HttpOptions<Context>): KoaRateLimit;
/** Puts one rule in front of requests; options of koa-ratelimit are understood. */
export function rateLimit(options?: KoaOptions): KoaRateLimit;
export function rateLimit(
  first: Policy | KoaOptions = {},
  second?: HttpOptions<Context>,
): KoaRateLimit {
  const setup = toSetup(first, second);
  const middleware = (ctx: Context, next: Next) => {
    if (setup.isBlocked === undefined) return pass(setup, ctx, next);
    return andThen(setup.isBlocked(ctx), (isBlocked) =>
      isBlocked ? ctx.throw(403, "Forbidden") : pass(setup, ctx, next),
    );
  };
  const { requestHandler } = setup;
  return Object.assign(middleware as Middleware, {
    status: (ctx: Context) =>
      andThen(requestHandler.status(new KoaHttpRequest(ctx)), (reply) => answer(ctx, reply)),
    policy: requestHandler.policy,
    close: () => requestHandler.close(),
  });
}

function toSetup(first: Policy | KoaOptions, second: HttpOptions<Context> | undefined): KoaSetup {
  const isOptions = typeof first === "object" && first !== null && !(first instanceof Policy);
  if (isOptions && second === undefined) return toKoaSetup(SITE, first);
  const requestHandler = toRequestHandler(SITE, first as Policy, second);
  return { requestHandler, isBlocked: undefined, answer: undefined, setFields: undefined };
}

function pass(setup: KoaSetup, ctx: Context, next: Next): MaybePromise<unknown> {
  const refuse = (handled: HandledRequest) => {
    setup.setFields?.(ctx, handled);
    if (setup.answer === undefined) answer(ctx, handled.refusal);
    else setup.answer(ctx, handled);
  };
  return andThen(
    handleNodeRequest(setup.requestHandler, new KoaHttpRequest(ctx), ctx.res, refuse),
    (handled) => {
      if (handled === undefined) return undefined;
      setup.setFields?.(ctx, handled);
      ctx.state.rateLimit = handled;
      return next();
    },
  );
}

/** Koa sends it, after the middleware before this one has seen it. */
function answer(ctx: Context, reply: WholeResponse | undefined): void {
  if (reply === undefined) return;
  const { status, fields, body } = reply;
  ctx.status = status;
  ctx.body = body;
  eachField(fields, (name, value) => ctx.set(name, value));
}

/** A request of Koa. Koa's own client address is not used: Koa trusts any proxy or none. */
class KoaHttpRequest implements HttpRequest {
  readonly raw: Context;

  constructor(ctx: Context) {
    this.raw = ctx;
  }

  get method(): string {
    return this.raw.req.method ?? "GET";
  }

  /** As it was sent: a mounted application sees a shorter one. */
  get target(): string {
    return this.raw.originalUrl;
  }

  get headers(): HttpRequest["headers"] {
    return this.raw.req.headers;
  }

  get peer(): string | undefined {
    return this.raw.req.socket.remoteAddress;
  }

  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    const { body } = this.raw.request as { body?: unknown };
    if (body !== undefined) return toFields(body);
    return readNodeBody(this.raw.req, bounds, this.raw.res);
  }
}

export default rateLimit;
