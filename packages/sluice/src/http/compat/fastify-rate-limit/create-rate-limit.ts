// What `app.createRateLimit()` makes: a function that counts a request wherever a handler calls it, and
// leaves the answer to that handler.

import type { FastifyRequest } from "fastify";
import type { FixedWindowLimit } from "../../../limits/limits.js";
import type { PolicyDecision } from "../../../rules/policy/policy-request/policy-decision.js";
import { FastifyHttpRequest } from "../../exchange/fastify/fastify-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { CheckedState } from "./checked-state.js";
import type { FastifyLimitOptions } from "./fastify-options.js";
import type { Hits } from "./refused-hits.js";
import { keyIn } from "./request-key.js";
import type { FastifyLimit } from "./route-limit.js";

/** Counts a request, or with `increment: false` only reports how it stands. */
export type RateLimitCheck = (
  request: FastifyRequest,
  options?: { readonly increment?: boolean },
) => Promise<CheckedState>;

declare module "fastify" {
  interface FastifyInstance {
    /** A function that counts a request wherever a handler calls it; default: by the plugin's limit. */
    createRateLimit(options?: FastifyLimitOptions): RateLimitCheck;
  }
}

/** A function that counts requests under a limit. */
export function toCheck(limit: FastifyLimit): RateLimitCheck {
  return async (request, options) => {
    if (limit.foreign !== undefined) {
      return limit.foreign.check(request, options?.increment === false);
    }
    const requestHandler = await limit.handlerOf(request);
    const key = keyIn(request);
    if (requestHandler === undefined) return { isAllowed: true, key };
    const httpRequest = new FastifyHttpRequest(request, undefined, limit.knowsProxies);
    const isRead = options?.increment === false;
    const decision = isRead
      ? await requestHandler.peek(httpRequest)
      : await count(requestHandler, httpRequest);
    const hits = await hitsOf(limit, decision, isRead);
    const [charge] = decision.charges;
    const ttl = hits?.ttlMs ?? (decision.allowed ? decision.resetMs : decision.retryAfterMs);
    return {
      isAllowed: false,
      key,
      max: decision.limit,
      timeWindow: (charge?.counter.limit as FixedWindowLimit | undefined)?.windowMs,
      remaining: decision.remaining,
      ttl,
      ttlInSeconds: Math.ceil(ttl / 1000),
      isExceeded: isRead && hits !== undefined ? hits.excess > 0 : !decision.allowed,
      isBanned: hits !== undefined && limit.refusals?.isBanned(hits) === true,
    };
  };
}

/** Charges that are held stay charged: the response is not awaited here. */
async function count(
  requestHandler: RequestHandler,
  httpRequest: FastifyHttpRequest,
): Promise<PolicyDecision> {
  const handled = await requestHandler.handle(httpRequest);
  handled.finish({});
  return handled.decision;
}

async function hitsOf(
  { hits }: FastifyLimit,
  decision: PolicyDecision,
  isRead: boolean,
): Promise<Hits | undefined> {
  if (isRead) return hits?.read(decision);
  return decision.allowed ? undefined : hits?.count(decision);
}
