/**
 * Rate limits for Koa.
 *
 * @module
 */

import type { Context, Middleware, Next } from "koa";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { OptionSite } from "../options.js";
import type { Policy } from "../rules/policy.js";
import { readNodeBody } from "./body/node.js";
import { type BodyBounds, type BodyFields, toFields } from "./body.js";
import { eachField } from "./fields.js";
import { passNode } from "./node/exchange.js";
import { type HttpOptions, type RateLimitOptions, toDoor } from "./options.js";
import type { RateLimitInfo } from "./passage.js";
import type { Reply } from "./refusal.js";
import type { RequestView } from "./request-view.js";

export type * from "./types.js";

/** What handlers find in `ctx.state`: `new Koa<RateLimitState>()`. */
export interface RateLimitState {
  rateLimit: RateLimitInfo;
}

/** A middleware for `app.use`. Handlers find what was decided in `ctx.state.rateLimit`. */
export interface KoaRateLimit extends Middleware {
  /** Answers `GET /rate_limit`: the caller's state under every rule, without counting. */
  status(ctx: Context): MaybePromise<void>;
  readonly policy: Policy;
  /** Lets go of a policy that was made for this middleware; one that was given stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy, options?: HttpOptions<Context>): KoaRateLimit;
/** Puts one rule in front of requests. */
export function rateLimit(options: RateLimitOptions<Context>): KoaRateLimit;
export function rateLimit(
  first: Policy | RateLimitOptions<Context>,
  second?: HttpOptions<Context>,
): KoaRateLimit {
  const door = toDoor(SITE, first, second);
  const middleware = (ctx: Context, next: Next) => {
    const refuse = ({ refusal }: { refusal: Reply | undefined }) => answer(ctx, refusal);
    return andThen(passNode(door, new KoaView(ctx), ctx.res, refuse), (passage) => {
      if (passage === undefined) return undefined;
      ctx.state.rateLimit = passage;
      return next();
    });
  };
  return Object.assign(middleware as Middleware, {
    status: (ctx: Context) => andThen(door.status(new KoaView(ctx)), (reply) => answer(ctx, reply)),
    policy: door.policy,
    close: () => door.close(),
  });
}

/** Koa sends it, after the middleware that stands before this one has seen it. */
function answer(ctx: Context, reply: Reply | undefined): void {
  if (reply === undefined) return;
  const { status, fields, body } = reply;
  ctx.status = status;
  ctx.body = body;
  eachField(fields, (name, value) => ctx.set(name, value));
}

/** A request of Koa. Its own idea of the client's address is not asked: it believes any proxy or none. */
class KoaView implements RequestView {
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

  get headers(): RequestView["headers"] {
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
