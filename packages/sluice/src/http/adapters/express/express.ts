/**
 * Rate limits for Express 5 and 4, on an app, a router or a single route.
 *
 * @module
 */

import type { NextFunction, Request, Response } from "express";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import type { ExpressOptions } from "../../compat/express-rate-limit/express-options.js";
import {
  type ExpressSetup,
  toExpressSetup,
  toPolicySetup,
} from "../../compat/express-rate-limit/express-setup.js";
import { type KeyMethods, toKeyMethods } from "../../compat/express-rate-limit/key-methods.js";
import { handleNodeRequest, sendNodeReply } from "../../exchange/node/node-exchange.js";
import { HandledRequest, type RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { toStatusReply } from "../../handler/rate-limit-endpoint.js";
import { ExpressHttpRequest } from "./express-request.js";

export type * from "../../adapter-types.js";
export type {
  ExpressOptions,
  RefusalHandler,
  ValueOf,
} from "../../compat/express-rate-limit/express-options.js";
export { ipKeyGenerator } from "../../compat/express-rate-limit/express-setup.js";
export type { KeyHits } from "../../compat/express-rate-limit/key-methods.js";

/** A middleware of Express. Handlers find what was decided in `request.rateLimit`. */
export interface ExpressRateLimit extends KeyMethods {
  (request: Request, response: Response, next: NextFunction): void;
  /** A handler for `app.get("/rate_limit", limit.status)`: the caller's state, without counting. */
  status(request: Request, response: Response, next: NextFunction): void;
  /** Undefined if a function chooses `limit`: each number that it returns has a policy of its own. */
  readonly policy: Policy | undefined;
  /** Closes what was made for this middleware; a policy or a store that was passed in stays open. */
  close(): Promise<void>;
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
  return Object.assign(withHandler(setup, handle), {
    ...toKeyMethods(setup.handlers),
    status: withHandler(setup, sendStatus),
    policy: setup.policy,
    close: () => setup.close(),
  });
}

/** What is done with the request handler of a request; undefined if the request is not counted. */
type Task = (
  setup: ExpressSetup,
  requestHandler: RequestHandler | undefined,
  request: Request,
  response: Response,
  next: NextFunction,
) => MaybePromise<void>;

/** A middleware that finds the request handler of each request. Express answers what fails. */
function withHandler(setup: ExpressSetup, task: Task) {
  return (request: Request, response: Response, next: NextFunction): void => {
    try {
      const found = setup.handlerOf(request);
      const done = isThenable(found)
        ? found.then((requestHandler) => task(setup, requestHandler, request, response, next))
        : task(setup, found, request, response, next);
      if (isThenable(done)) done.catch(next);
    } catch (error) {
      next(error);
    }
  };
}

/** Makes no closure for a request that is decided immediately and answered in the usual way. */
function handle(
  setup: ExpressSetup,
  requestHandler: RequestHandler | undefined,
  request: Request,
  response: Response,
  next: NextFunction,
): MaybePromise<void> {
  if (requestHandler === undefined) return next();
  const { answer } = setup;
  const httpRequest = new ExpressHttpRequest(request, response, setup.knowsProxies);
  const passed =
    answer === undefined
      ? handleNodeRequest(requestHandler, httpRequest, response)
      : handleNodeRequest(requestHandler, httpRequest, response, (handled) => {
          setup.info.set(request, handled);
          answer(handled, request, response, next);
        });
  if (passed === undefined) return;
  if (passed instanceof HandledRequest) {
    return goOn(setup, requestHandler, passed, request, response, next);
  }
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
  setup.settle?.(requestHandler, handled, request, response);
  next();
}

/** A request that is not counted is under no limit. */
function sendStatus(
  { knowsProxies }: ExpressSetup,
  requestHandler: RequestHandler | undefined,
  request: Request,
  response: Response,
): MaybePromise<void> {
  const reply =
    requestHandler?.status(new ExpressHttpRequest(request, response, knowsProxies)) ??
    toStatusReply([]);
  return andThen(reply, (found) => sendNodeReply(response, found));
}

export default rateLimit;
