// The way of a Fastify request through a door: fields put on its response, refusals answered, delays waited
// for, and what is held settled when the response is out or the client is gone.

import type { FastifyReply, FastifyRequest } from "fastify";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { tellWithKey } from "../../compat/fastify-rate-limit/request-key.js";
import type { FastifyLimit } from "../../compat/fastify-rate-limit/route-limit.js";
import { Passage } from "../../handler/handled-request.js";
import type { Door } from "../../handler/handler.js";
import type { Refusal, Reply } from "../../response/refusal.js";
import {
  BODY_FIELDS,
  eachField,
  type Fields,
  toLines,
  withoutFields,
} from "../../response/response-headers.js";
import { finishWithResponse } from "../node/node-exchange.js";
import { isGone } from "../node/pipelined-socket.js";
import { joinHead, replaceHead } from "../node/response-head.js";
import { FastifyView } from "./fastify-request.js";

/** A request on its way through a limit. */
export interface FastifyExchange {
  readonly limit: FastifyLimit;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Goes on, or hands an error to Fastify. */
  readonly done: (error?: Error) => void;
}

/** Takes a request through a limit. `done` is called unless it was answered or its client is gone. */
export function applyLimit(exchange: FastifyExchange): void {
  const { limit, request, reply, done } = exchange;
  if (limit.foreign !== undefined) {
    limit.foreign.apply(request, reply).then(() => done(), done);
    return;
  }
  try {
    const found = limit.doorOf(request);
    const went = isThenable(found)
      ? found.then((door) => enter(exchange, door))
      : enter(exchange, found);
    if (isThenable(went)) went.catch(done);
  } catch (error) {
    done(error as Error);
  }
}

/** Makes no closure for what is decided at once. */
function enter(exchange: FastifyExchange, door: Door | undefined): MaybePromise<void> {
  if (door === undefined) return exchange.done();
  const { limit, request, reply } = exchange;
  const entered = door.enter(new FastifyView(request, reply, limit.knowsProxies));
  if (entered instanceof Passage) return goOn(exchange, door, entered);
  return entered.then((passage) => {
    if (!isGone(reply.raw)) return goOn(exchange, door, passage);
    passage.finish({});
    return undefined;
  });
}

function goOn(exchange: FastifyExchange, door: Door, passage: Passage): MaybePromise<void> {
  const { limit, request, reply, done } = exchange;
  const { refusal } = passage;
  request.rateLimit = passage;
  if (refusal !== undefined) return refuse(exchange, door, passage, refusal);
  joinHead(reply.raw, shownLines(passage, limit.hidden.passed));
  if (limit.onPassed !== undefined) tellWithKey(limit.onPassed, request, door);
  if (!passage.isHeld) return done();
  finishWithResponse(passage, reply.raw);
  return andThen(passage.waited(), (mayGoOn) => {
    if (mayGoOn) done();
  });
}

function shownLines(passage: Passage, hidden: ReadonlySet<string>): string {
  return hidden.size === 0 ? passage.lines : toLines(withoutFields(passage.fields, hidden));
}

function refuse(
  { limit, request, reply, done }: FastifyExchange,
  door: Door,
  passage: Passage,
  refusal: Refusal,
): MaybePromise<void> {
  const { refused } = limit.hidden;
  const lines = shownLines(passage, refused);
  joinHead(reply.raw, lines);
  if (limit.refusals === undefined) return send(reply, refusal, refused);
  return andThen(limit.refusals.toError(passage, request, door), (thrown) => {
    if (thrown === undefined) return send(reply, refusal, refused);
    const { error, ttlMs } = thrown;
    // Whatever answers the error writes a body of its own.
    const fields = withoutFields(withoutFields(refusal.fields, refused), BODY_FIELDS);
    setFields(reply, fields);
    if (ttlMs !== undefined) showWait(reply, lines, { ttlMs, refused });
    done(error as Error);
  });
}

const RESET = /^((?:X-)?RateLimit-Reset: )\d+|;t=\d+/gim;

/** Shows another wait than the refusal's own, in every field that has one. */
function showWait(
  reply: FastifyReply,
  lines: string,
  { ttlMs, refused }: { ttlMs: number; refused: ReadonlySet<string> },
): void {
  const seconds = Math.ceil(ttlMs / 1000);
  replaceHead(
    reply.raw,
    lines.replace(RESET, (_, name?: string) => `${name ?? ";t="}${seconds}`),
  );
  if (!refused.has("retry-after")) reply.header("Retry-After", `${seconds}`);
}

function send(
  reply: FastifyReply,
  { status, fields, body }: Reply,
  hidden: ReadonlySet<string>,
): void {
  reply.code(status);
  setFields(reply, withoutFields(fields, hidden));
  reply.send(body);
}

/** Tells a caller its state under a limit, without counting. */
export function tellStatus(
  limit: FastifyLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): MaybePromise<void> {
  return andThen(limit.doorOf(request), (door) => {
    if (door === undefined) return void reply.code(204).send();
    return andThen(door.status(new FastifyView(request, reply, limit.knowsProxies)), (told) =>
      send(reply, told, limit.hidden.passed),
    );
  });
}

function setFields(reply: FastifyReply, fields: Fields): void {
  eachField(fields, (name, value) => reply.header(name, value));
}
