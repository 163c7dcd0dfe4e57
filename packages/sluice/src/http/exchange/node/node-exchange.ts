// A request and response of `node:http`, for all frameworks that are built on it: sets headers, answers refusals,
// waits for delays, and settles what the request holds when the response is out or the client is gone.

import type { IncomingMessage, ServerResponse } from "node:http";
import { SluiceError } from "../../../base/errors.js";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { RequestEnd } from "../../../rules/policy/held-charges/request-end.js";
import { HandledRequest, type RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { BodyBounds, BodyFields } from "../../identity/body/body.js";
import { readNodeBody } from "../../identity/body/node-body.js";
import type { HttpRequest } from "../../identity/http-request.js";
import type { WholeResponse } from "../../response/refusal.js";
import { eachField, type HeaderFields } from "../../response/response-headers.js";
import { type WatchedBody, watchBody } from "./response-body.js";
import { isGone, watchEnd } from "./response-end.js";
import { joinHead, readField, watchHead } from "./response-head.js";
import { keepTickShape } from "./tick-shape.js";

keepTickShape();

/** A request that was allowed, with what was decided. */
export type LimitedRequest = IncomingMessage & { rateLimit: RateLimitInfo };

/** A `node:http` request as request handlers see it. */
export class NodeHttpRequest implements HttpRequest {
  readonly raw: IncomingMessage;
  readonly #response: ServerResponse | undefined;

  /** @param response - As for {@link readNodeBody}. */
  constructor(request: IncomingMessage, response?: ServerResponse) {
    this.raw = request;
    this.#response = response;
  }

  get method(): string {
    return this.raw.method ?? "GET";
  }

  get target(): string {
    return this.raw.url ?? "/";
  }

  get headers(): HttpRequest["headers"] {
    return this.raw.headers;
  }

  get peer(): string | undefined {
    return this.raw.socket.remoteAddress;
  }

  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    return readNodeBody(this.raw, bounds, this.#response);
  }
}

/** Answers a refused request. */
type Refuse = (handled: HandledRequest, response: ServerResponse) => void;

/**
 * Has a request handler decide a request. Returns the handled request if it may go on: its headers are set and
 * its wait is over. Returns undefined if it may not: `refuse` answered it, or its client is gone. Throws or
 * rejects with what the framework's error handling has to see.
 *
 * @param refuse - Default: {@link sendRefusal}.
 */
export function handleNodeRequest(
  requestHandler: RequestHandler,
  request: HttpRequest,
  response: ServerResponse,
  refuse: Refuse = sendRefusal,
): MaybePromise<HandledRequest | undefined> {
  const handling = requestHandler.handle(request);
  if (handling instanceof HandledRequest) return goOn(handling, response, refuse);
  return handling.then((handled) => {
    if (!isGone(response)) return goOn(handled, response, refuse);
    handled.finish({});
    return undefined;
  });
}

function goOn(
  handled: HandledRequest,
  response: ServerResponse,
  refuse: Refuse,
): MaybePromise<HandledRequest | undefined> {
  joinHead(response, handled.lines);
  if (handled.refusal !== undefined) {
    refuse(handled, response);
    return undefined;
  }
  if (!handled.isHeld) return handled;
  finishWithResponse(handled, response);
  const waited = handled.waited();
  if (!isThenable(waited)) return handled;
  return waited.then((mayGoOn) => (mayGoOn ? handled : undefined));
}

/** Sets headers on a response immediately; none if its headers were sent before. */
export function setFields(response: ServerResponse, fields: HeaderFields): void {
  if (response.headersSent) return;
  eachField(fields, (name, value) => response.setHeader(name, value));
}

/** Answers with the request handler's refusal. */
function sendRefusal({ refusal }: HandledRequest, response: ServerResponse): void {
  if (refusal !== undefined) sendNodeReply(response, refusal);
}

/** Sends a whole response. */
export function sendNodeReply(
  response: ServerResponse,
  { status, fields, body }: WholeResponse,
): void {
  // By name: middleware that wraps writeHead may not know flat lists.
  const named: Record<string, string> = {};
  eachField(fields, (name, value) => {
    named[name] = value;
  });
  response.writeHead(status, named);
  response.end(body);
}

/** The response to an error, if no framework answers it: the request is not let through, and nothing is disclosed. */
export function toErrorReply(error: unknown): WholeResponse {
  const status = error instanceof SluiceError && error.status >= 500 ? error.status : 500;
  return { status, fields: ["Cache-Control", "no-store", "Content-Length", "0"], body: "" };
}

/**
 * Calls `next` with what `start` returns, now or later, or `fail` with its error. What `next` throws is not
 * caught.
 */
export function goOnWith<T>(
  start: () => MaybePromise<T>,
  next: (value: T) => void,
  fail: (error: unknown) => void,
): void {
  let started: MaybePromise<T>;
  try {
    started = start();
  } catch (error) {
    fail(error);
    return;
  }
  if (isThenable(started)) started.then(next, fail);
  else next(started);
}

/** Finishes the handled request once the response is out, or its client is gone. */
export function finishWithResponse(handled: HandledRequest, response: ServerResponse): void {
  if (isGone(response)) {
    handled.finish({});
    return;
  }
  watchHead(response);
  const body = handled.needsBytes || handled.needsBody ? watchBody(handled, response) : undefined;
  watchEnd(response, () => handled.finish(toEnd(response, body)));
}

/** How a response ended. Without headers there was none: the client disconnected before. */
function toEnd(response: ServerResponse, body: WatchedBody | undefined): RequestEnd {
  if (!response.headersSent) return {};
  const header = (name: string) => readField(response, name);
  return { status: response.statusCode, bytes: body?.bytes, header, body: body?.meter };
}
