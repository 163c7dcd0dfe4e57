/**
 * Rate limits for `node:http`, and for any framework whose middleware is `(req, res, next)`.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { OptionSite } from "../options.js";
import type { Policy } from "../rules/policy.js";
import type { Door } from "./door.js";
import {
  goOnWith,
  type LimitedRequest,
  NodeView,
  passNode,
  sendReply,
  toErrorReply,
} from "./node-exchange.js";
import { type HttpOptions, type RateLimitOptions, toDoor } from "./options.js";
import type { Passage } from "./passage.js";
import { passUpgrade } from "./upgrade.js";

export type { LimitedRequest } from "./node-exchange.js";
export type { HttpOptions, RateLimitOptions } from "./options.js";
export type { RateLimitInfo } from "./passage.js";
export type { RefusalContext } from "./refusal.js";

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
  /** Lets go of a policy that was made for this middleware; one that was given stays open. */
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
  const door = toDoor(SITE, first, second);
  const middleware = (
    request: IncomingMessage,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ) => passOn(door, request, response, () => next(), next);
  return Object.assign(middleware, {
    status: (request: IncomingMessage, response: ServerResponse) =>
      goOnWith(
        () => door.status(new NodeView(request)),
        (reply) => sendReply(response, reply),
        (error) => sendError(door, response, error),
      ),
    policy: door.policy,
    close: () => door.close(),
    wrap: (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) =>
      passOn(
        door,
        request,
        response,
        () => handler(request as LimitedRequest, response),
        (error) => sendError(door, response, error),
      ),
    wrapUpgrade:
      (handler: UpgradeHandler) => (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        passUpgrade(door, request, socket, () => handler(request as LimitedRequest, socket, head)),
  });
}

function passOn(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  goOn: () => unknown,
  fail: (error: unknown) => void,
): void {
  const pass = () => passNode(door, new NodeView(request), response);
  const next = (passage: Passage | undefined) => {
    if (passage === undefined) return;
    (request as LimitedRequest).rateLimit = passage;
    goOn();
  };
  goOnWith(pass, next, fail);
}

function sendError(door: Door, response: ServerResponse, error: unknown): void {
  door.onError(error);
  if (response.headersSent) response.destroy();
  else sendReply(response, toErrorReply(error));
}
