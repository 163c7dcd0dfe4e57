// Answers refusals as express-rate-limit does: by a handler, with a message, with another status. The RateLimit
// headers are already set, and no cache may store the answer.

import type { NextFunction, Request, Response } from "express";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { sendNodeReply, setFields } from "../../exchange/node/node-exchange.js";
import type { HandledRequest } from "../../handler/handled-request.js";
import type { Refusal } from "../../response/refusal.js";
import { BODY_FIELDS, type HeaderFields, withoutFields } from "../../response/response-headers.js";
import type { ExpressOptions } from "./express-options.js";

/** Answers a refused request, or leaves it to `next`. */
export type AnswerRefusal = (
  handled: HandledRequest,
  request: Request,
  response: Response,
  next: NextFunction,
) => void;

const STATUS_DEFAULT = 429;
/** What `retryAfter` may be, in seconds. */
export const RETRY_AFTER_SECONDS = { min: 1, max: 2 ** 31 };
/** What `handler` gets if there is no `message`. */
const MESSAGE_DEFAULT = "Too many requests, please try again later.";

/** Sends the response to a refused request. */
type Send = (request: Request, response: Response, next: NextFunction) => MaybePromise<unknown>;

/** How these options answer refused requests; undefined: as the request handler says. */
export function toAnswer(options: ExpressOptions): AnswerRefusal | undefined {
  const { statusCode, retryAfter } = options;
  const send = toSend(options);
  if (send === undefined && statusCode === undefined && retryAfter === undefined) return undefined;
  const hidden = hasFields(options) ? NOTHING : RETRY_AFTER;
  const secondsOf = typeof retryAfter === "function" ? retryAfter : () => retryAfter;
  return (handled, request, response, next) => {
    const refusal = handled.refusal as Refusal;
    const answer = (seconds: number | undefined): MaybePromise<unknown> => {
      const known = isRetryAfter(seconds) ? seconds : undefined;
      const fields = withoutFields(toFields(refusal, known, send !== undefined), hidden);
      if (send === undefined) {
        return sendNodeReply(response, {
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

function isRetryAfter(seconds: unknown): boolean {
  const { min, max } = RETRY_AFTER_SECONDS;
  return Number.isInteger(seconds) && (seconds as number) >= min && (seconds as number) <= max;
}

function toSend(options: ExpressOptions): Send | undefined {
  const { handler, message, statusCode = STATUS_DEFAULT } = options;
  if (handler !== undefined) {
    const used = { message: MESSAGE_DEFAULT, ...options, statusCode };
    return (request, response, next) => handler(request, response, next, used);
  }
  if (message === undefined && isOurs(options)) return undefined;
  const shown = message ?? MESSAGE_DEFAULT;
  return (request, response) => {
    response.status(statusCode);
    const found = typeof shown === "function" ? shown(request, response) : shown;
    return andThen(found as MaybePromise<unknown>, (body) => {
      if (!response.writableEnded) response.send(body);
    });
  };
}

/** Whether refusals are answered in our own way: the limit or the body is given so. */
function isOurs({ limit, max, body }: ExpressOptions): boolean {
  if (body !== undefined) return true;
  return typeof (limit ?? max) === "object";
}

/** Whether any RateLimit headers are on. Without them express-rate-limit sends no Retry-After either. */
function hasFields({ headers, standardHeaders, legacyHeaders }: ExpressOptions): boolean {
  const isStandard = standardHeaders !== false && headers !== "none";
  return isStandard || (legacyHeaders ?? headers) !== false;
}

const NOTHING: ReadonlySet<string> = new Set();
const RETRY_AFTER: ReadonlySet<string> = new Set(["retry-after"]);

/** The headers of a refusal with another Retry-After, and without those of a body that is not sent. */
function toFields(
  { fields }: Refusal,
  retryAfterSeconds: number | undefined,
  hasOtherBody: boolean,
): HeaderFields {
  const kept = hasOtherBody ? withoutFields(fields, BODY_FIELDS) : fields;
  if (retryAfterSeconds === undefined) return kept;
  return [...withoutFields(kept, RETRY_AFTER), "Retry-After", `${retryAfterSeconds}`];
}
