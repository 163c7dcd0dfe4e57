/**
 * Rate limits for handlers that take a `Request` and answer with a `Response`: route handlers and
 * middleware of Next.js, Bun, Deno, workers.
 *
 * @module
 */

import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import type { Policy } from "../../../rules/policy/policy.js";
import {
  type HandledFetchRequest,
  handleFetchRequest,
  toResponse,
} from "../../exchange/fetch/fetch-exchange.js";
import { type PeerOptions, splitPeerOptions } from "../../exchange/fetch/fetch-options.js";
import { FetchHttpRequest, PeerFinder } from "../../exchange/fetch/fetch-request.js";
import { toRequestHandler } from "../../handler/create-handler.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import type { HttpOptions, RateLimitOptions } from "../../handler/http-options.js";

export type * from "../../adapter-types.js";
export type { HandledFetchRequest } from "../../exchange/fetch/fetch-exchange.js";
export type { PeerOptions } from "../../exchange/fetch/fetch-options.js";
export {
  cloudflarePeer,
  headerPeer,
  type PeerOf,
  runtimePeer,
} from "../../exchange/fetch/peer-address.js";

/** A handler. The runtime passes the arguments after the request: a server, an environment, a context. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** A limiter of requests. */
export interface FetchRateLimit {
  /** Decides a request. Pass along what the runtime passed: it may show the client's address. */
  (request: Request, ...rest: readonly unknown[]): MaybePromise<HandledFetchRequest>;
  /** A handler that runs only for requests that may go on, and whose responses get the headers. */
  wrap<Rest extends readonly unknown[]>(handler: FetchHandler<Rest>): FetchHandler<Rest>;
  /** What a handler behind `wrap` can learn and say about its request; undefined if it did not pass. */
  infoOf(request: Request): RateLimitInfo | undefined;
  /** Answers `GET /rate_limit`: the caller's state under every rule, without counting. */
  status(request: Request, ...rest: readonly unknown[]): MaybePromise<Response>;
  readonly policy: Policy;
  /** Closes a policy that was made for this limiter; one that was passed in stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(
  policy: Policy,
  options?: HttpOptions<Request> & PeerOptions,
): FetchRateLimit;
/** Puts one rule in front of requests. */
export function rateLimit(options: RateLimitOptions<Request> & PeerOptions): FetchRateLimit;
export function rateLimit(
  first: Policy | (RateLimitOptions<Request> & PeerOptions),
  second?: HttpOptions<Request> & PeerOptions,
): FetchRateLimit {
  const { peerOf, args } = splitPeerOptions(SITE, first, second);
  const requestHandler = toRequestHandler(SITE, ...args);
  const peers = new PeerFinder(peerOf);
  const infos = new WeakMap<Request, RateLimitInfo>();
  const toHttpRequest = (request: Request, rest: readonly unknown[]) =>
    new FetchHttpRequest(request, request, peers, rest);
  const limit = (request: Request, ...rest: readonly unknown[]) =>
    handleFetchRequest(requestHandler, toHttpRequest(request, rest), request);
  return Object.assign(limit, {
    wrap<Rest extends readonly unknown[]>(handler: FetchHandler<Rest>): FetchHandler<Rest> {
      return (request, ...rest) =>
        andThen(limit(request, ...rest), (handled) => {
          if (handled.response !== undefined) return handled.response;
          infos.set(request, handled.info);
          return answer(handled, () => handler(request, ...rest));
        });
    },
    infoOf: (request: Request) => infos.get(request),
    status: (request: Request, ...rest: readonly unknown[]) =>
      andThen(requestHandler.status(toHttpRequest(request, rest)), (reply) => toResponse(reply)),
    policy: requestHandler.policy,
    close: () => requestHandler.close(),
  });
}

/** The handler's response, on its way out. If it throws, the runtime answers. */
function answer(
  handled: HandledFetchRequest,
  handle: () => MaybePromise<Response>,
): MaybePromise<Response> {
  const fail = (error: unknown): never => {
    handled.fail();
    throw error;
  };
  try {
    const response = handle();
    if (!isThenable(response)) return handled.finish(response);
    return Promise.resolve(response)
      .then((late) => handled.finish(late))
      .catch(fail);
  } catch (error) {
    return fail(error);
  }
}
