/**
 * Rate limits for Express 5 and 4, on an app, a router or a single route.
 *
 * @module
 */

import type { NextFunction, Request, Response } from "express";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/option-checks.js";
import { Policy } from "../../../rules/policy/policy.js";
import type { ExpressOptions } from "../../compat/express-rate-limit/express-options.js";
import {
  type ExpressSetup,
  toExpressSetup,
  toPolicySetup,
} from "../../compat/express-rate-limit/express-setup.js";
import { HandledRequest, type RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { toStatusReply } from "../../handler/rate-limit-endpoint.js";
import { passNode, sendReply } from "../node/node-exchange.js";
import { ExpressHttpRequest } from "./express-request.js";

export type * from "../../adapter-types.js";
export type {
  ExpressOptions,
  RefusalHandler,
  ValueOf,
} from "../../compat/express-rate-limit/express-options.js";
export { ipKeyGenerator } from "../../compat/express-rate-limit/ip-key-generator.js";

/** A middleware of Express. Handlers find what was decided in `request.rateLimit`. */
export interface ExpressRateLimit {
  (request: Request, response: Response, next: NextFunction): void;
  /** A handler for `app.get("/rate_limit", limit.status)`: the caller's state, without counting. */
  status(request: Request, response: Response, next: NextFunction): void;
  /** Undefined if a function chooses `limit`: each number that it answers has a policy of its own. */
  readonly policy: Policy | undefined;
  /** Forgets what a key has used: what `keyGenerator` returned, or an address. */
  resetKey(key: string): Promise<void>;
  /** What a key has used in its window; undefined if it has none. */
  getKey(key: string): Promise<KeyHits | undefined>;
  /** Lets go of what was made for this middleware; a policy or a store that was given stays open. */
  close(): Promise<void>;
}

/** What a key has used in its window. */
export interface KeyHits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

declare global {
  namespace Express {
    interface Request {
      /** What was decided; undefined if the request did not come through a limit. */
      rateLimit?: RateLimitInfo;
    }
  }
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy, options?: HttpOptions<Request>): ExpressRateLimit;
/** Puts one rule in front of requests; options of express-rate-limit are understood. */
export function rateLimit(options?: ExpressOptions): ExpressRateLimit;
export function rateLimit(
  first: Policy | ExpressOptions = {},
  second?: HttpOptions<Request>,
): ExpressRateLimit {
  const setup =
    first instanceof Policy
      ? toPolicySetup(SITE, first, second)
      : toExpressSetup(SITE, first, second);
  const limit = throughHandler(setup, pass);
  const status = throughHandler(setup, tell);
  return Object.assign(limit, {
    status,
    policy: setup.policy,
    close: () => setup.close(),
    resetKey: async (key: string) => {
      await Promise.all(
        setup.requestHandlers().map((requestHandler) => requestHandler.resetKey(String(key))),
      );
    },
    getKey: (key: string) => hitsOf(setup.requestHandlers(), String(key)),
  });
}

/** What a key has used; where a function chooses the limit, under the number of which it used most. */
async function hitsOf(
  requestHandlers: readonly RequestHandler[],
  key: string,
): Promise<KeyHits | undefined> {
  let most: KeyHits | undefined;
  for (const requestHandler of requestHandlers) {
    const { limit, remaining, resetMs } = await requestHandler.peekKey(key);
    const totalHits = limit - remaining;
    if (resetMs === 0 || totalHits < (most?.totalHits ?? 0)) continue;
    most = { totalHits, resetTime: new Date(requestHandler.wallMs() + resetMs) };
  }
  return most;
}

type Task = (
  setup: ExpressSetup,
  requestHandler: RequestHandler,
  request: Request,
  response: Response,
  next: NextFunction,
) => MaybePromise<void>;

/** Does something with the request handler of each request. What fails is Express's to answer. */
function throughHandler(setup: ExpressSetup, task: Task) {
  const enter: Enter = (requestHandler, request, response, next) => {
    if (requestHandler !== undefined) return task(setup, requestHandler, request, response, next);
    // How a request stands that is not counted: under no limit.
    return task === tell ? sendReply(response, toStatusReply([])) : next();
  };
  return (request: Request, response: Response, next: NextFunction): void => {
    try {
      const found = setup.requestHandlerOf(request);
      const done = isThenable(found)
        ? found.then((requestHandler) => enter(requestHandler, request, response, next))
        : enter(found, request, response, next);
      if (isThenable(done)) done.catch(next);
    } catch (error) {
      next(error);
    }
  };
}

type Enter = (
  requestHandler: RequestHandler | undefined,
  request: Request,
  response: Response,
  next: NextFunction,
) => MaybePromise<void>;

/** Makes no closure for what is decided at once and not answered in a way of its own. */
function pass(
  setup: ExpressSetup,
  requestHandler: RequestHandler,
  request: Request,
  response: Response,
  next: NextFunction,
): MaybePromise<void> {
  const view = new ExpressHttpRequest(request, response, setup.knowsProxies);
  const { answer } = setup;
  const passed =
    answer === undefined
      ? passNode(requestHandler, view, response)
      : passNode(requestHandler, view, response, (handled) => {
          setup.info.set(request, handled);
          answer(handled, request, response, next);
        });
  if (passed === undefined) return;
  if (passed instanceof HandledRequest)
    return goOn(setup, requestHandler, passed, request, response, next);
  return passed.then((handled) => {
    if (handled !== undefined) goOn(setup, requestHandler, handled, request, response, next);
  });
}

function goOn(
  setup: ExpressSetup,
  requestHandler: RequestHandler,
  handled: HandledRequest,
  request: Request,
  response: Response,
  next: NextFunction,
): void {
  setup.info.set(request, handled);
  if (setup.isCounted !== undefined)
    settleByCode(setup, requestHandler, handled, request, response);
  next();
}

/** Asks whether the response counts once it is out, which is before the request handler settles. */
function settleByCode(
  { isCounted }: ExpressSetup,
  requestHandler: RequestHandler,
  handled: HandledRequest,
  request: Request,
  response: Response,
): void {
  const toCost = (counts: boolean) => (counts ? undefined : 0);
  const report = (error: unknown) => void requestHandler.onError(error);
  response.once("finish", () => {
    try {
      const counts = isCounted?.(request, response);
      if (isThenable(counts)) handled.settleLater(counts.then(toCost, report));
      else if (counts === false) handled.settle(0);
    } catch (error) {
      requestHandler.onError(error);
    }
  });
}

async function tell(
  setup: ExpressSetup,
  requestHandler: RequestHandler,
  request: Request,
  response: Response,
): Promise<void> {
  sendReply(
    response,
    await requestHandler.status(new ExpressHttpRequest(request, response, setup.knowsProxies)),
  );
}

export default rateLimit;
