// The way of a Fastify request through a door: fields added when the reply is sent, refusals answered,
// delays waited for, and what is held settled when the response is out or the client is gone.

import type { FastifyReply, FastifyRequest } from "fastify";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import type { Door } from "./door.js";
import type { FastifyLimit } from "./fastify-limit.js";
import { FastifyView } from "./fastify-view.js";
import { finishWithResponse } from "./node-exchange.js";
import type { Passage, RateLimitInfo } from "./passage.js";
import type { Refusal, Reply } from "./refusal.js";

/** Where the fields of a request's reply wait. Decorated, so that all requests have the same shape. */
export const FIELDS: unique symbol = Symbol("sluice.fields");

/** A request that went through a limit. */
export type LimitedRequest = FastifyRequest & {
  rateLimit: RateLimitInfo | null;
  [FIELDS]: readonly string[] | undefined;
};

type Done = (error?: Error) => void;

/** Takes a request through a limit. `done` is called unless it was answered or its client is gone. */
export function applyLimit(
  limit: FastifyLimit,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  const enter = (door: Door | undefined): MaybePromise<void> => {
    if (door === undefined) return done();
    return andThen(door.enter(new FastifyView(request, limit.knowsProxies)), (passage) =>
      goOn(limit, door, passage, request as LimitedRequest, reply, done),
    );
  };
  try {
    const went = andThen(limit.doorOf(request), enter);
    if (isThenable(went)) went.catch(done);
  } catch (error) {
    done(error as Error);
  }
}

function goOn(
  limit: FastifyLimit,
  door: Door,
  passage: Passage,
  request: LimitedRequest,
  reply: FastifyReply,
  done: Done,
): MaybePromise<void> {
  const { refusal } = passage;
  request.rateLimit = passage;
  if (refusal !== undefined) {
    request[FIELDS] = without(limit.hidden.refused, passage.fields);
    return refuse(limit, passage, refusal, request, reply, done);
  }
  request[FIELDS] = without(limit.hidden.passed, passage.fields);
  if (limit.onPassed !== undefined) tell(door, () => limit.onPassed?.(request));
  if (!passage.isHeld) return done();
  finishWithResponse(passage, reply.raw);
  return andThen(passage.waited(), (mayGoOn) => {
    if (mayGoOn) done();
  });
}

function refuse(
  limit: FastifyLimit,
  passage: Passage,
  refusal: Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): MaybePromise<void> {
  const { refused } = limit.hidden;
  if (limit.refusals === undefined) return send(reply, refusal, refused);
  return andThen(limit.refusals.toError(passage, request), (error) => {
    if (error === undefined) return send(reply, refusal, refused);
    const { fields } = refusal;
    for (let i = 0; i < fields.length; i += 2) {
      // Whatever answers the error writes a body of its own.
      if (!fields[i].startsWith("Content-") && !refused.has(fields[i].toLowerCase())) {
        reply.header(fields[i], fields[i + 1]);
      }
    }
    done(error as Error);
  });
}

function send(
  reply: FastifyReply,
  { status, fields, body }: Reply,
  hidden: ReadonlySet<string>,
): void {
  reply.code(status);
  setFields(reply, without(hidden, fields));
  reply.send(body);
}

/** A callback that throws does not change what was decided. */
function tell(door: Door, callback: () => void): void {
  try {
    callback();
  } catch (error) {
    door.onError(error);
  }
}

/** Adds the fields to a reply, as an `onSend` hook: later than any handler, so that ours count. */
export function sendFields(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload?: unknown) => void,
): void {
  const fields = (request as LimitedRequest)[FIELDS];
  if (fields !== undefined) setFields(reply, fields);
  done(null, payload);
}

/** Tells a caller its state under a limit, without counting. */
export function tellStatus(
  limit: FastifyLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): MaybePromise<void> {
  return andThen(limit.doorOf(request), (door) => {
    if (door === undefined) return void reply.code(204).send();
    return andThen(door.status(new FastifyView(request, limit.knowsProxies)), (told) =>
      send(reply, told, limit.hidden.passed),
    );
  });
}

function setFields(reply: FastifyReply, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) reply.header(fields[i], fields[i + 1]);
}

function without(hidden: ReadonlySet<string>, fields: readonly string[]): readonly string[] {
  if (hidden.size === 0) return fields;
  const shown: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (!hidden.has(fields[i].toLowerCase())) shown.push(fields[i], fields[i + 1]);
  }
  return shown;
}
