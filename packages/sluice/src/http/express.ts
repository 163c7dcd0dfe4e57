/**
 * Rate limits for Express 5 and 4, on an app, a router or a single route.
 *
 * @module
 */

import type { NextFunction, Request, Response } from "express";
import { isThenable, type MaybePromise } from "../maybe-promise.js";
import type { OptionSite } from "../options.js";
import { Policy } from "../rules/policy.js";
import type { Door } from "./door.js";
import type { ExpressOptions } from "./express-options.js";
import { type ExpressSetup, toExpressSetup, toPolicySetup } from "./express-setup.js";
import { ExpressView } from "./express-view.js";
import { passNode, sendReply } from "./node-exchange.js";
import type { HttpOptions } from "./options.js";
import type { Passage } from "./passage.js";

export type { ExpressOptions, RefusalHandler, ValueOf } from "./express-options.js";
export type { HttpOptions } from "./options.js";
export type { RateLimitInfo } from "./passage.js";

/** A middleware of Express. */
export interface ExpressRateLimit {
  (request: Request, response: Response, next: NextFunction): void;
  /** A handler for `app.get("/rate_limit", limit.status)`: the caller's state, without counting. */
  status(request: Request, response: Response, next: NextFunction): void;
  /** Lets go of what was made for this middleware; a policy or a store that was given stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy, options?: HttpOptions<Request>): ExpressRateLimit;
/** Puts one rule in front of requests; options of express-rate-limit are understood. */
export function rateLimit(options: ExpressOptions): ExpressRateLimit;
export function rateLimit(
  first: Policy | ExpressOptions,
  second?: HttpOptions<Request>,
): ExpressRateLimit {
  const setup =
    first instanceof Policy
      ? toPolicySetup(SITE, first, second)
      : toExpressSetup(SITE, first, second);
  const limit = throughDoor(setup, (door, request, response, next) =>
    pass(setup, door, request, response, next),
  );
  const status = throughDoor(setup, (door, request, response) =>
    tell(setup, door, request, response),
  );
  return Object.assign(limit, { status, close: () => setup.close() });
}

type Task = (
  door: Door,
  request: Request,
  response: Response,
  next: NextFunction,
) => MaybePromise<void>;

/** Does something with the door of each request. What fails is Express's to answer. */
function throughDoor({ doorOf }: ExpressSetup, task: Task) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const enter = (door: Door | undefined): MaybePromise<void> =>
      door === undefined ? next() : task(door, request, response, next);
    try {
      const door = doorOf(request, response);
      const done = isThenable(door) ? door.then(enter) : enter(door);
      if (isThenable(done)) done.catch(next);
    } catch (error) {
      next(error);
    }
  };
}

function pass(
  setup: ExpressSetup,
  door: Door,
  request: Request,
  response: Response,
  next: NextFunction,
): MaybePromise<void> {
  const view = new ExpressView(request, setup.knowsProxies);
  const { answer } = setup;
  const passed =
    answer === undefined
      ? passNode(door, view, response)
      : passNode(door, view, response, (passage) => {
          setInfo(setup, request, passage);
          answer(passage, request, response, next);
        });
  const goOn = (passage: Passage | undefined): void => {
    if (passage === undefined) return;
    setInfo(setup, request, passage);
    if (setup.isCounted !== undefined) settleByCode(setup, door, passage, request, response);
    next();
  };
  return isThenable(passed) ? passed.then(goOn) : goOn(passed);
}

/** Asks whether the response counts once it is out, which is before the door settles. */
function settleByCode(
  { isCounted }: ExpressSetup,
  door: Door,
  passage: Passage,
  request: Request,
  response: Response,
): void {
  response.once("finish", () => {
    try {
      if (isCounted?.(request, response) === false) passage.settle(0);
    } catch (error) {
      door.onError(error);
    }
  });
}

function setInfo({ infoName }: ExpressSetup, request: Request, passage: Passage): void {
  (request as unknown as Record<string, unknown>)[infoName] = passage;
}

async function tell(
  setup: ExpressSetup,
  door: Door,
  request: Request,
  response: Response,
): Promise<void> {
  sendReply(response, await door.status(new ExpressView(request, setup.knowsProxies)));
}
