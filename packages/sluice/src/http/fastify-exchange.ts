// The way of a Fastify request through a door: fields put on its response, refusals answered, delays waited
// for, and what is held settled when the response is out or the client is gone.

import type { FastifyReply, FastifyRequest } from "fastify";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import type { Door } from "./door.js";
import type { FastifyLimit } from "./fastify-limit.js";
import { tell } from "./fastify-refusals.js";
import { FastifyView } from "./fastify-view.js";
import { finishWithResponse } from "./node-exchange.js";
import { joinHead } from "./node-head.js";
import type { Passage } from "./passage.js";
import type { Refusal, Reply } from "./refusal.js";

/** What a refusal says of its body. */
const BODY_FIELDS = ["content-type", "content-length"];

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
      goOn(limit, door, passage, request, reply, done),
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
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): MaybePromise<void> {
  const { refusal } = passage;
  request.rateLimit = passage;
  if (refusal !== undefined) {
    joinHead(reply.raw, without(limit.hidden.refused, passage.fields));
    return refuse(limit, door, passage, refusal, request, reply, done);
  }
  joinHead(reply.raw, without(limit.hidden.passed, passage.fields));
  if (limit.onPassed !== undefined) {
    tell(limit.onPassed, request, (error) => door.onError(error));
  }
  if (!passage.isHeld) return done();
  finishWithResponse(passage, reply.raw);
  return andThen(passage.waited(), (mayGoOn) => {
    if (mayGoOn) done();
  });
}

function refuse(
  limit: FastifyLimit,
  door: Door,
  passage: Passage,
  refusal: Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): MaybePromise<void> {
  const { refused } = limit.hidden;
  if (limit.refusals === undefined) return send(reply, refusal, refused);
  const onError = (error: unknown) => door.onError(error);
  return andThen(limit.refusals.toError(passage, request, onError), (error) => {
    if (error === undefined) return send(reply, refusal, refused);
    // Whatever answers the error writes a body of its own.
    setFields(reply, without(new Set([...refused, ...BODY_FIELDS]), refusal.fields));
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
