/**
 * Rate limits for Hono, on Node, Bun, Deno and workers.
 *
 * @module
 */

import type { Context, MiddlewareHandler, Next } from "hono";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import { toFixedChoice } from "../../compat/handler-choice.js";
import type { HonoOptions } from "../../compat/hono-rate-limiter/hono-options.js";
import {
  type HonoSetup,
  INFO_NAME,
  toHonoSetup,
} from "../../compat/hono-rate-limiter/hono-setup.js";
import {
  type HandledFetchRequest,
  handleFetchRequest,
  toResponse,
} from "../../exchange/fetch/fetch-exchange.js";
import { type PeerOptions, splitPeerOptions } from "../../exchange/fetch/fetch-options.js";
import { FetchHttpRequest, PeerFinder } from "../../exchange/fetch/fetch-request.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import {
  type HttpOptions,
  type RateLimitOptions,
  refuseRequest,
} from "../../handler/http-options.js";
import { toStatusReply } from "../../handler/rate-limit-endpoint.js";
import {
  type BodyBounds,
  type BodyFields,
  parseBody,
  toBodyForm,
} from "../../identity/body/body.js";

export type * from "../../adapter-types.js";
export type {
  HonoOptions,
  HonoRefusalHandler,
  OfContext,
} from "../../compat/hono-rate-limiter/hono-options.js";
export type { PeerOptions } from "../../exchange/fetch/fetch-options.js";
export {
  cloudflarePeer,
  headerPeer,
  type PeerOf,
  runtimePeer,
} from "../../exchange/fetch/peer-address.js";

/** What handlers find in the context: `c.get("rateLimit")`. */
export interface RateLimitEnv {
  Variables: { rateLimit: RateLimitInfo };
}

/** A middleware for `app.use`. */
export interface HonoRateLimit extends MiddlewareHandler<RateLimitEnv> {
  /** A handler for `app.get("/rate_limit", …)`: the caller's state under every rule, without counting. */
  status(c: Context): MaybePromise<Response>;
  /** Undefined if a function chooses `limit`: each number that it returns has a policy of its own. */
  readonly policy: Policy | undefined;
  /** Closes a policy that was made for this middleware; one that was passed in stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(
  policy: Policy,
  options?: HttpOptions<Context> & PeerOptions,
): HonoRateLimit;
/** Puts one rule in front of requests; options of hono-rate-limiter are understood. */
export function rateLimit(options?: HonoOptions): HonoRateLimit;
export function rateLimit(
  first: Policy | HonoOptions = {},
  second?: HttpOptions<Context> & PeerOptions,
): HonoRateLimit {
  const { peerOf, args } = splitPeerOptions<Context>(SITE, first as Policy, second);
  const setup = toSetup(...args);
  const peers = new PeerFinder(peerOf);
  const middleware = (c: Context, next: Next) =>
    andThen(setup.handlerOf(c), (requestHandler) =>
      requestHandler === undefined
        ? next()
        : pass(setup, requestHandler, new HonoHttpRequest(c, peers), c, next),
    );
  const status = (c: Context) =>
    andThen(setup.handlerOf(c), (requestHandler) => {
      const reply = requestHandler?.status(new HonoHttpRequest(c, peers)) ?? toStatusReply([]);
      return andThen(reply, (found) => toResponse(found));
    });
  return Object.assign(middleware as MiddlewareHandler<RateLimitEnv>, {
    status,
    policy: setup.policy,
    close: () => setup.close(),
  });
}

/** The name that hono-rate-limiter has for {@link rateLimit}. */
export { rateLimit as rateLimiter };

function toSetup(
  first: Policy | RateLimitOptions<Context>,
  second?: HttpOptions<Context>,
): HonoSetup {
  if (first instanceof Policy || second !== undefined || typeof first !== "object") {
    const choice = toFixedChoice(SITE, first, second);
    return { ...choice, answer: undefined, isCounted: undefined, infoName: INFO_NAME };
  }
  refuseRequest(SITE, first);
  return toHonoSetup(SITE, first);
}

function pass(
  setup: HonoSetup,
  requestHandler: RequestHandler,
  httpRequest: HonoHttpRequest,
  c: Context,
  next: Next,
): unknown {
  return andThen<HandledFetchRequest, unknown>(
    handleFetchRequest(requestHandler, httpRequest, c.req.raw),
    (handled) => {
      const { response } = handled;
      if (response === undefined) return goOn(setup, c, next, handled);
      if (setup.answer === undefined || !handled.isRefused) return response;
      c.set(setup.infoName, handled.info);
      return setup.answer(c, next, response);
    },
  );
}

async function goOn(
  { infoName, isCounted }: HonoSetup,
  c: Context,
  next: Next,
  handled: HandledFetchRequest,
): Promise<undefined> {
  c.set(infoName, handled.info);
  try {
    await next();
    if (isCounted !== undefined && !(await isCounted(c))) handled.info.settle(0);
  } catch (error) {
    // Hono answers errors itself, and what is left are thrown values that are not errors.
    handled.fail();
    throw error;
  }
  const answer = handled.finish(c.res);
  if (answer === c.res) return;
  // Without this Hono would merge the headers of both.
  c.res = undefined;
  c.res = answer;
}

class HonoHttpRequest extends FetchHttpRequest {
  constructor(c: Context, peers: PeerFinder) {
    super(c.req.raw, c, peers, [c.env]);
  }

  /** Hono remembers a body that was read before. */
  override readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    if (!this.request.bodyUsed) return super.readBody(bounds);
    const { req } = this.raw as Context;
    const form = toBodyForm(req.header("content-type"), req.header("content-encoding"));
    if (form === undefined) return undefined;
    return req
      .arrayBuffer()
      .then((bytes) =>
        bytes.byteLength > bounds.bytesMax ? undefined : parseBody(form, new Uint8Array(bytes)),
      );
  }
}
