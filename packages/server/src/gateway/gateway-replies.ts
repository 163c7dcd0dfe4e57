// What the gateway answers itself: refusals of its request handler, and problems of its own. Clients learn what happened;
// the details are for the log.

import { SluiceError, type SluiceErrorCode } from "sluice";
import { toFields, type WholeResponse } from "sluice/http";
import type { Exchange, RefusalStatus } from "sluice-http1";
import { ServerError, type ServerErrorCode } from "../base/errors.js";
import { PROBLEM_LINES, toProblemBody, toRawProblem } from "../base/http/problem.js";
import { sendReply } from "../base/http/send-reply.js";

/** The problems that the gateway answers with, by status. */
export type ProblemStatus = 400 | 404 | 408 | 409 | 413 | 417 | 431 | 500 | 502 | 503 | 504;

/** A problem: by its status, or `store` if the store does not answer and a rule fails closed. */
export type GatewayProblem = ProblemStatus | "store";

const STORE_STATUS = 503;

const CODES: Readonly<Record<GatewayProblem, ServerErrorCode | SluiceErrorCode>> = {
  400: "SLUICE_REQUEST_INVALID",
  404: "SLUICE_NOT_FOUND",
  408: "SLUICE_REQUEST_INVALID",
  409: "SLUICE_REQUEST_ID_REUSED",
  413: "SLUICE_BODY_TOO_LARGE",
  417: "SLUICE_REQUEST_INVALID",
  431: "SLUICE_REQUEST_INVALID",
  500: "SLUICE_FAULT",
  502: "SLUICE_UPSTREAM_UNAVAILABLE",
  503: "SLUICE_UPSTREAM_BUSY",
  504: "SLUICE_UPSTREAM_TIMEOUT",
  store: "SLUICE_STORE_UNAVAILABLE",
};

const PROBLEM_FIELDS = toFields(PROBLEM_LINES);
const replies = new Map<GatewayProblem, WholeResponse>();

/** The response to a problem, as `application/problem+json`. */
export function toProblem(kind: GatewayProblem): WholeResponse {
  const known = replies.get(kind);
  if (known !== undefined) return known;
  const status = kind === "store" ? STORE_STATUS : kind;
  const body = toProblemBody({ status, code: CODES[kind] });
  const reply = { status, fields: PROBLEM_FIELDS, body };
  replies.set(kind, reply);
  return reply;
}

/** The problem that an error is to the client. Faults of the service are a 500 without details. */
export function kindOfError(error: unknown): GatewayProblem {
  if (error instanceof SluiceError) {
    if (error.code === CODES[409]) return 409;
    return error.status === STORE_STATUS ? "store" : 500;
  }
  const isKnown = error instanceof ServerError && error.status in CODES;
  return isKnown ? (error.status as ProblemStatus) : 500;
}

/** The whole response to a malformed request. */
export function toRefusal(status: RefusalStatus): string {
  return toRawProblem({ status, code: CODES[status] });
}

/**
 * Sends a whole response, with `lines` (RateLimit headers) in its head.
 *
 * @param closes - Whether the connection is closed after it in any case.
 */
export function answer(
  exchange: Exchange,
  reply: WholeResponse,
  lines: string,
  closes: boolean,
): void {
  if (closes) exchange.closes = true;
  sendReply(exchange, reply, lines);
}
