/**
 * Rate limits for `node:http`, and for any framework whose middleware is `(req, res, next)`.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import type { Policy } from "../../../rules/policy/policy.js";
import {
  goOnWith,
  handleNodeRequest,
  type LimitedRequest,
  NodeHttpRequest,
  sendNodeReply,
  toErrorReply,
} from "../../exchange/node/node-exchange.js";
import { toRequestHandler } from "../../handler/create-handler.js";
import { HandledRequest } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { HttpOptions, RateLimitOptions } from "../../handler/http-options.js";
import { handleUpgrade } from "./upgrade.js";

export type * from "../../adapter-types.js";
export type { LimitedRequest } from "../../exchange/node/node-exchange.js";

/** A handler of `createServer`. */
export type NodeHandler = (request: LimitedRequest, response: ServerResponse) => unknown;

/** A listener of a server's 'upgrade' event. */
export type UpgradeHandler = (request: LimitedRequest, socket: Duplex, head: Buffer) => unknown;

/** A middleware that calls `next` if the request may go on, and has answered it if not. */
export interface NodeRateLimit {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  /** A handler for `createServer` that passes on what may go on. */
  wrap(handler: NodeHandler): (request: IncomingMessage, response: ServerResponse) => void;
  /** A listener for 'upgrade' events; what a socket holds is held until it closes. */
  wrapUpgrade(
    handler: UpgradeHandler,
  ): (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** A handler for `GET /rate_limit`: the caller's state as JSON, without counting the question. */
  status(request: IncomingMessage, response: ServerResponse): void;
  readonly policy: Policy;
  /** Closes a policy that was made for this middleware; one that was passed in stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy, options?: HttpOptions<IncomingMessage>): NodeRateLimit;
/** Puts one rule in front of requests. */
export function rateLimit(options: RateLimitOptions<IncomingMessage>): NodeRateLimit;
export function rateLimit(
  first: Policy | RateLimitOptions<IncomingMessage>,
  second?: HttpOptions<IncomingMessage>,
): NodeRateLimit {
  const requestHandler = toRequestHandler(SITE, first, second);
  const sendFailure: Fail = (error, response) => sendError(requestHandler, response, error);
  const middleware = (
    request: IncomingMessage,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ) => handle(requestHandler, request, response, callNext, next, next);
  return Object.assign(middleware, {
    status: (request: IncomingMessage, response: ServerResponse) =>
      goOnWith(
        () => requestHandler.status(new NodeHttpRequest(request)),
        (reply) => sendNodeReply(response, reply),
        (error) => sendFailure(error, response),
      ),
    policy: requestHandler.policy,
    close: () => requestHandler.close(),
    wrap: (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) =>
      handle(requestHandler, request, response, handler, sendFailure, undefined),
    wrapUpgrade:
      (handler: UpgradeHandler) => (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        handleUpgrade(requestHandler, request, socket, () =>
          handler(request as LimitedRequest, socket, head),
        ),
  });
}

type Fail = (error: unknown, response: ServerResponse) => void;
type Next = () => void;
type GoOn = (request: LimitedRequest, response: ServerResponse, next: Next | undefined) => unknown;

function callNext(...[, , next]: Parameters<GoOn>): void {
  next?.();
}

/** Makes no closure for a request that is decided immediately (bench http/node). */
function handle(
  requestHandler: RequestHandler,
  request: IncomingMessage,
  response: ServerResponse,
  handler: GoOn,
  fail: Fail,
  next: Next | undefined,
): void {
  let passed: MaybePromise<HandledRequest | undefined>;
  try {
    passed = handleNodeRequest(requestHandler, new NodeHttpRequest(request, response), response);
  } catch (error) {
    fail(error, response);
    return;
  }
  if (passed === undefined) return;
  if (passed instanceof HandledRequest) goOn(passed, request, response, handler, next);
  else {
    // What the handler throws is not caught: it is not an error of the limits.
    passed.then(
      (handled) => handled !== undefined && goOn(handled, request, response, handler, next),
      (error) => fail(error, response),
    );
  }
}

function goOn(
  handled: HandledRequest,
  request: IncomingMessage,
  response: ServerResponse,
  handler: GoOn,
  next: Next | undefined,
): void {
  const limited = request as LimitedRequest;
  limited.rateLimit = handled;
  handler(limited, response, next);
}

function sendError(requestHandler: RequestHandler, response: ServerResponse, error: unknown): void {
  requestHandler.onError(error);
  if (response.headersSent) response.destroy();
  else sendNodeReply(response, toErrorReply(error));
}
