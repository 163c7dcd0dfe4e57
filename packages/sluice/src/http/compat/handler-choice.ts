// Which request handler decides a request, for a middleware whose limit may be a number as with other limiters: one
// handler for all requests, or one for each number that a function chooses.

import { SluiceError, show } from "../../base/errors.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { type OptionSite, refuse } from "../../base/shapes/code-options.js";
import { isLimit } from "../../limits/limits.js";
import { type LimitOrRate, parseRate, rateHint } from "../../limits/rate.js";
import type { Policy } from "../../rules/policy/policy.js";
import { toRequestHandler } from "../handler/create-handler.js";
import type { RequestHandler } from "../handler/handler.js";
import type { HttpOptions, RateLimitOptions } from "../handler/http-options.js";
import { toWindowHandler, WindowHandlers } from "./window-handlers.js";

/** Chooses the request handler of each request. */
export interface HandlerChoice<Raw> {
  /** The request handler of a request; undefined if it is not to be counted. */
  readonly handlerOf: (request: Raw) => MaybePromise<RequestHandler | undefined>;
  /** All request handlers that are in use. */
  readonly handlers: () => readonly RequestHandler[];
  /** Undefined if there is more than one. */
  readonly policy: Policy | undefined;
  close(): Promise<void>;
}

/** A limit of ours, or a number of requests in each window, or a function that chooses it. */
export type LimitOrNumber<Raw> =
  | LimitOrRate
  | readonly LimitOrRate[]
  | number
  | ((request: Raw) => MaybePromise<number>);

/** One request handler for all requests. */
export function toFixedChoice<Raw>(
  site: OptionSite,
  first: Policy | RateLimitOptions<Raw>,
  second?: HttpOptions<Raw>,
): HandlerChoice<Raw> {
  return fromHandler(toRequestHandler(site, first, second));
}

/** How long a window is if the limit is a number. */
interface Window {
  readonly windowMs: number | undefined;
  readonly windowMsDefault: number;
}

type Own<Raw> = Omit<RateLimitOptions<Raw>, "limit">;

/** The request handler of options in our own names, whose limit may be a number. */
export function toLimitHandler<Raw>(
  site: OptionSite,
  own: Own<Raw>,
  limit: Exclude<LimitOrNumber<Raw>, (...args: never[]) => unknown> | undefined,
  { windowMs, windowMsDefault }: Window,
): RequestHandler {
  if (typeof limit === "number") {
    return toWindowHandler(site, own, {
      limit,
      windowMs: windowMs === undefined ? windowMsDefault : windowMs,
    });
  }
  const isRate = typeof limit === "string" && parseRate(limit) !== undefined;
  const isOurs = limit === undefined || isRate || isLimit(limit) || Array.isArray(limit);
  if (!isOurs) {
    const what = "limit must be a number, a function or a limit";
    refuse(site, `${what}, got ${show(limit)}${rateHint(limit)}`);
  }
  if (windowMs !== undefined)
    refuse(site, "windowMs needs a limit that is a number: this limit has a window of its own");
  return toRequestHandler(site, { ...own, limit } as RateLimitOptions<Raw>);
}

/** The request handlers of options in our own names, whose limit may be a number or a function that chooses it. */
export function toHandlerChoice<Raw>(
  site: OptionSite,
  own: Own<Raw>,
  limit: LimitOrNumber<Raw> | undefined,
  window: Window,
): HandlerChoice<Raw> {
  if (typeof limit !== "function") return fromHandler(toLimitHandler(site, own, limit, window));
  return chooseByNumber(
    site,
    own,
    limit,
    window.windowMs === undefined ? window.windowMsDefault : window.windowMs,
  );
}

function fromHandler<Raw>(requestHandler: RequestHandler): HandlerChoice<Raw> {
  return {
    handlerOf: () => requestHandler,
    handlers: () => [requestHandler],
    policy: requestHandler.policy,
    close: () => requestHandler.close(),
  };
}

function chooseByNumber<Raw>(
  site: OptionSite,
  { skip, ...own }: Omit<RateLimitOptions<Raw>, "limit">,
  choose: (request: Raw) => MaybePromise<number>,
  windowMs: number,
): HandlerChoice<Raw> {
  const handlers = new WindowHandlers(site, own);
  const chosen = (request: Raw) =>
    andThen(choose(request), (limit) => handlers.of({ limit, windowMs }));
  // A request that is not counted has no limit to choose.
  const handlerOf = (request: Raw) =>
    andThen(skip?.(request) ?? false, (isSkipped) => (isSkipped ? undefined : chosen(request)));
  return {
    handlerOf,
    handlers: () => handlers.all(),
    policy: undefined,
    close: () => handlers.close(),
  };
}

/**
 * What a function in code returned, as a key.
 *
 * @param name - The option that the function was given as, for the error.
 * @throws SluiceError `SLUICE_KEY_INVALID` if it is empty, or neither a string nor a finite number.
 */
export function toKey(name: string, answer: unknown): string {
  if (Number.isFinite(answer) || (typeof answer === "string" && answer !== "")) {
    return `${answer}`;
  }
  // As a key it would be shared by all callers without one. Options such as `skip` say which requests are not counted.
  throw new SluiceError("SLUICE_KEY_INVALID", `${name} answered ${show(answer)}`);
}
