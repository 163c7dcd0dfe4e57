/**
 * Rate limits for `node:http`, and for any framework whose middleware is `(req, res, next)`.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { andThen } from "../maybe-promise.js";
import type { Policy } from "../rules/policy.js";
import { Door } from "./door.js";
import { Identity } from "./identity.js";
import { NodeView, passNode } from "./node-exchange.js";

/** A middleware that calls `next` if the request may go on, and has answered it if not. */
export type NodeMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Puts a policy in front of requests. */
export function rateLimit(policy: Policy): NodeMiddleware {
  const door = new Door(policy, new Identity());
  return (request, response, next) => {
    andThen(passNode(door, new NodeView(request), response), (mayGoOn) => {
      if (mayGoOn) next();
    });
  };
}
