// Where requests enter a middleware that also takes numbers, as other limiters do: one request handler for a limit, or
// that of the number which a function chose. For frameworks whose functions get one context.

import { SluiceError, show } from "../../base/errors.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { type OptionSite, refuse } from "../../base/option-checks.js";
import { isLimit, type Limit } from "../../limits/limits.js";
import type { Policy } from "../../rules/policy/policy.js";
import type { RequestHandler } from "../handler/handler.js";
import {
  type HttpOptions,
  type RateLimitOptions,
  toRequestHandler,
} from "../handler/http-options.js";
import { toWindowHandler, WindowHandlers } from "./window-handlers.js";

/** Where requests enter. */
export interface Entrance<Raw> {
  /** The request handler of a request; undefined if it is not to be counted. */
  readonly requestHandlerOf: (request: Raw) => MaybePromise<RequestHandler | undefined>;
  /** All that there are. */
  readonly requestHandlers: () => readonly RequestHandler[];
  /** Undefined if there is more than one. */
  readonly policy: Policy | undefined;
  close(): Promise<void>;
}

/** A limit of ours, or a number of requests in each window, or a function that chooses it. */
export type LimitOrNumber<Raw> =
  | Limit
  | readonly Limit[]
  | number
  | ((request: Raw) => MaybePromise<number>);

/** An entrance with one request handler. */
export function toOneRequestHandler<Raw>(
  site: OptionSite,
  first: Policy | RateLimitOptions<Raw>,
  second?: HttpOptions<Raw>,
): Entrance<Raw> {
  return fromHandler(toRequestHandler(site, first, second));
}

/** How long a window is, where a limit is a number. */
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
  const isOurs = limit === undefined || isLimit(limit) || Array.isArray(limit);
  if (!isOurs) refuse(site, `limit must be a number, a function or a limit, got ${show(limit)}`);
  if (windowMs !== undefined) refuse(site, "windowMs goes with a number: this limit has its own");
  return toRequestHandler(site, { ...own, limit } as RateLimitOptions<Raw>);
}

/** The entrance of options in our own names, whose limit may be a number or a function that chooses it. */
export function toEntrance<Raw>(
  site: OptionSite,
  own: Own<Raw>,
  limit: LimitOrNumber<Raw> | undefined,
  window: Window,
): Entrance<Raw> {
  if (typeof limit !== "function") return fromHandler(toLimitHandler(site, own, limit, window));
  return toRequestHandlers(
    site,
    own,
    limit,
    window.windowMs === undefined ? window.windowMsDefault : window.windowMs,
  );
}

function fromHandler<Raw>(requestHandler: RequestHandler): Entrance<Raw> {
  return {
    requestHandlerOf: () => requestHandler,
    requestHandlers: () => [requestHandler],
    policy: requestHandler.policy,
    close: () => requestHandler.close(),
  };
}

function toRequestHandlers<Raw>(
  site: OptionSite,
  { skip, ...own }: Omit<RateLimitOptions<Raw>, "limit">,
  choose: (request: Raw) => MaybePromise<number>,
  windowMs: number,
): Entrance<Raw> {
  const requestHandlers = new WindowHandlers(site, own);
  const choice = (request: Raw) =>
    andThen(choose(request), (limit) => requestHandlers.of({ limit, windowMs }));
  // A request that is not counted has no limit to choose.
  const requestHandlerOf = (request: Raw) =>
    andThen(skip?.(request) ?? false, (isSkipped) => (isSkipped ? undefined : choice(request)));
  return {
    requestHandlerOf,
    requestHandlers: () => requestHandlers.all(),
    policy: undefined,
    close: () => requestHandlers.close(),
  };
}

/**
 * What a function of the user returned, as a key.
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
