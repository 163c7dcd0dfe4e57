// A Fastify request and its reply: sets headers, answers refusals, waits for delays, and settles what the request
// holds when the response is out or the client is gone.

import type { FastifyReply, FastifyRequest } from "fastify";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { showWait } from "../../compat/fastify-rate-limit/fastify-refusals.js";
import { notifyWithKey } from "../../compat/fastify-rate-limit/request-key.js";
import type { FastifyLimit } from "../../compat/fastify-rate-limit/route-limit.js";
import { FastifyHttpRequest } from "../../exchange/fastify/fastify-request.js";
import { finishWithResponse } from "../../exchange/node/node-exchange.js";
import { isGone } from "../../exchange/node/response-end.js";
import { joinHead } from "../../exchange/node/response-head.js";
import { HandledRequest } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { Refusal, WholeResponse } from "../../response/refusal.js";
import {
  BODY_FIELDS,
  eachField,
  type HeaderFields,
  toLines,
  withoutFields,
} from "../../response/response-headers.js";

/** A request and its reply, under a limit. */
export interface FastifyExchange {
  readonly limit: FastifyLimit;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Goes on, or hands an error to Fastify. */
  readonly done: (error?: Error) => void;
}

/** Applies a limit to a request. Calls `done` unless the request was answered or its client is gone. */
export function applyLimit(exchange: FastifyExchange): void {
  const { limit, request, reply, done } = exchange;
  if (limit.foreign !== undefined) {
    limit.foreign.apply(request, reply).then(() => done(), done);
    return;
  }
  try {
    const found = limit.handlerOf(request);
    const handled = isThenable(found)
      ? found.then((requestHandler) => handle(exchange, requestHandler))
      : handle(exchange, found);
    if (isThenable(handled)) handled.catch(done);
  } catch (error) {
    done(error as Error);
  }
}

/** Makes no closure for a request that is decided immediately. */
function handle(
  exchange: FastifyExchange,
  requestHandler: RequestHandler | undefined,
): MaybePromise<void> {
  if (requestHandler === undefined) return exchange.done();
  const { limit, request, reply } = exchange;
  const handling = requestHandler.handle(
    new FastifyHttpRequest(request, reply, limit.knowsProxies),
  );
  if (handling instanceof HandledRequest) return goOn(exchange, requestHandler, handling);
  return handling.then((handled) => {
    if (!isGone(reply.raw)) return goOn(exchange, requestHandler, handled);
    handled.finish({});
    return undefined;
  });
}

function goOn(
  exchange: FastifyExchange,
  requestHandler: RequestHandler,
  handled: HandledRequest,
): MaybePromise<void> {
  const { limit, request, reply, done } = exchange;
  const { refusal } = handled;
  request.rateLimit = handled;
  if (refusal !== undefined) return refuse(exchange, requestHandler, handled, refusal);
  joinHead(reply.raw, shownLines(handled, limit.hidden.passed));
  if (limit.onPassed !== undefined) notifyWithKey(limit.onPassed, request, requestHandler);
  if (!handled.isHeld) return done();
  finishWithResponse(handled, reply.raw);
  return andThen(handled.waited(), (mayGoOn) => {
    if (mayGoOn) done();
  });
}

function shownLines(handled: HandledRequest, hidden: ReadonlySet<string>): string {
  return hidden.size === 0 ? handled.lines : toLines(withoutFields(handled.fields, hidden));
}

function refuse(
  { limit, request, reply, done }: FastifyExchange,
  requestHandler: RequestHandler,
  handled: HandledRequest,
  refusal: Refusal,
): MaybePromise<void> {
  const { refused } = limit.hidden;
  const lines = shownLines(handled, refused);
  joinHead(reply.raw, lines);
  if (limit.refusals === undefined) return send(reply, refusal, refused);
  return andThen(limit.refusals.toError(handled, request, requestHandler), (thrown) => {
    if (thrown === undefined) return send(reply, refusal, refused);
    const { error, ttlMs } = thrown;
    // Whatever answers the error writes a body of its own.
    const fields = withoutFields(withoutFields(refusal.fields, refused), BODY_FIELDS);
    setFields(reply, fields);
    if (ttlMs !== undefined) showWait(reply, lines, ttlMs, refused);
    done(error as Error);
  });
}

function send(
  reply: FastifyReply,
  { status, fields, body }: WholeResponse,
  hidden: ReadonlySet<string>,
): void {
  reply.code(status);
  setFields(reply, withoutFields(fields, hidden));
  reply.send(body);
}

/** Sends a caller its state under a limit, without counting. */
export function sendStatus(
  limit: FastifyLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): MaybePromise<void> {
  return andThen(limit.handlerOf(request), (requestHandler) => {
    if (requestHandler === undefined) return void reply.code(204).send();
    return andThen(
      requestHandler.status(new FastifyHttpRequest(request, reply, limit.knowsProxies)),
      (status) => send(reply, status, limit.hidden.passed),
    );
  });
}

function setFields(reply: FastifyReply, fields: HeaderFields): void {
  eachField(fields, (name, value) => reply.header(name, value));
}
