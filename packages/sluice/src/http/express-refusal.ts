// Refusals that are answered in the way of express-rate-limit: by a handler, with a message, under another
// status. The RateLimit fields are set by then, and an answer never becomes a cache's.

import type { NextFunction, Request, Response } from "express";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import type { ExpressOptions } from "./express-options.js";
import { sendReply, setFields } from "./node-exchange.js";
import type { Passage } from "./passage.js";
import type { Refusal } from "./refusal.js";

/** Answers a refused request, or leaves it to `next`. */
export type Answer = (
  passage: Passage,
  request: Request,
  response: Response,
  next: NextFunction,
) => void;

const STATUS_DEFAULT = 429;
/** What `handler` is told if there is no `message`. */
const MESSAGE_DEFAULT = "Too many requests, please try again later.";

/** Sends the response to a refused request. */
type Send = (request: Request, response: Response, next: NextFunction) => MaybePromise<unknown>;

/** How these options answer refused requests; undefined: as the door says. */
export function toAnswer(options: ExpressOptions): Answer | undefined {
  const { statusCode, retryAfter } = options;
  const send = toSend(options);
  if (send === undefined && statusCode === undefined && retryAfter === undefined) return undefined;
  const secondsOf = typeof retryAfter === "function" ? retryAfter : () => retryAfter;
  return (passage, request, response, next) => {
    const refusal = passage.refusal as Refusal;
    const answer = (seconds: number | undefined): MaybePromise<unknown> => {
      const fields = toFields(refusal, seconds, send !== undefined);
      if (send === undefined) {
        return sendReply(response, {
          status: statusCode ?? refusal.status,
          fields,
          body: refusal.body,
        });
      }
      setFields(response, fields);
      return send(request, response, next);
    };
    try {
      const answered = andThen(
        secondsOf(request, response) as MaybePromise<number | undefined>,
        answer,
      );
      if (isThenable(answered)) answered.catch(next);
    } catch (error) {
      next(error);
    }
  };
}

function toSend(options: ExpressOptions): Send | undefined {
  const { handler, message, statusCode = STATUS_DEFAULT } = options;
  if (handler !== undefined) {
    const used = { message: MESSAGE_DEFAULT, ...options, statusCode };
    return (request, response, next) => handler(request, response, next, used);
  }
  if (message === undefined) return undefined;
  return (request, response) => {
    response.status(statusCode);
    const found = typeof message === "function" ? message(request, response) : message;
    return andThen(found as MaybePromise<unknown>, (body) => {
      if (!response.writableEnded) response.send(body);
    });
  };
}

/** The fields of a refusal with another Retry-After, and without those of a body that is not sent. */
function toFields(
  { fields }: Refusal,
  retryAfterSeconds: number | undefined,
  hasOtherBody: boolean,
): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const [name, value] = [fields[i], fields[i + 1]];
    if (hasOtherBody && name.startsWith("Content-")) continue;
    if (name === "Retry-After" && retryAfterSeconds !== undefined) continue;
    kept.push(name, value);
  }
  if (retryAfterSeconds !== undefined) kept.push("Retry-After", `${retryAfterSeconds}`);
  return kept;
}
