// What the gateway answers itself: refusals of its door, and problems of its own. Clients are told what
// happened and never why in detail: that is for the log. A connection on which more of a request is
// still to come is closed, gently, so that the client can read the answer first.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SluiceError, type SluiceErrorCode } from "sluice";
import { joinHead, type Reply } from "sluice/http";
import { after } from "../clock.js";
import { ServerError, type ServerErrorCode } from "../errors.js";
import { titleOf, toProblemBody } from "../http/problem.js";
import { endWithText } from "./exchange-text.js";

/** The problems that the gateway answers with, by status. */
export type ProblemStatus = 400 | 404 | 408 | 413 | 431 | 500 | 502 | 503 | 504;

/** A problem: by its status, or `store` for a store that does not answer where a rule insists on it. */
export type ProblemKind = ProblemStatus | "store";

const STORE_STATUS = 503;

const CODES: Readonly<Record<ProblemKind, ServerErrorCode | SluiceErrorCode>> = {
  400: "SLUICE_REQUEST_INVALID",
  404: "SLUICE_NOT_FOUND",
  408: "SLUICE_REQUEST_INVALID",
  413: "SLUICE_BODY_TOO_LARGE",
  431: "SLUICE_REQUEST_INVALID",
  500: "SLUICE_FAULT",
  502: "SLUICE_UPSTREAM_UNAVAILABLE",
  503: "SLUICE_UPSTREAM_BUSY",
  504: "SLUICE_UPSTREAM_TIMEOUT",
  store: "SLUICE_STORE_UNAVAILABLE",
};

/** How long a connection that is closed may still be read from, so that its answer is not lost. */
const LINGER_MS = 2_000;
/** Bytes of an unread body that are rather read to their end than paid for with a new connection. */
const UNREAD_BYTES_MAX = 65_536;

const replies = new Map<ProblemKind, Reply>();

/** The response to a problem, as `application/problem+json`. */
export function toProblem(kind: ProblemKind): Reply {
  const known = replies.get(kind);
  if (known !== undefined) return known;
  const status = kind === "store" ? STORE_STATUS : kind;
  const body = toProblemBody({ status, code: CODES[kind] });
  const type = "application/problem+json";
  const fields = ["Cache-Control", "no-store", "Content-Type", type];
  const reply = { status, fields: [...fields, "Content-Length", `${body.length}`], body };
  replies.set(kind, reply);
  return reply;
}

/** The problem that an error is to the client. Of what is ours nothing is told but that there was something. */
export function kindOfError(error: unknown): ProblemKind {
  if (error instanceof SluiceError) return error.status === STORE_STATUS ? "store" : 500;
  const isKnown = error instanceof ServerError && error.status in CODES;
  return isKnown ? (error.status as ProblemStatus) : 500;
}

/** The whole response to a problem of a connection on which no request was understood. */
export function toRawProblem(status: ProblemStatus): string {
  const { fields, body } = toProblem(status);
  let head = `HTTP/1.1 ${status} ${titleOf(status)}\r\nConnection: close\r\n`;
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${head}\r\n${body}`;
}

/**
 * Sends a whole response, with `lines` (RateLimit fields) in its head.
 *
 * @param closes - Whether the connection is closed after it; {@link hasMuchLeft} if nothing else demands it.
 */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  lines: string,
  closes: boolean,
): void {
  const { status, fields, body } = reply;
  let head = lines;
  let length = "0";
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] === "Content-Length") length = fields[i + 1];
    else head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  }
  if (closes) closeGently(request.socket, response);
  // In HTTP/1.1 a connection stays open unless it says otherwise: a refusal need not say so each time.
  else if (response.shouldKeepAlive && request.httpVersionMinor > 0) {
    response.removeHeader("Connection");
  }
  joinHead(response, head);
  response.writeHead(status, { "Content-Length": length });
  // As many bytes as characters: they are the same then, in whatever way they are written.
  if (Number(length) === body.length) endWithText(response, body);
  else response.end(body);
}

/** Whether more of a request is to come than is worth reading, or it can't be told how much. */
export function hasMuchLeft(request: IncomingMessage, hasBody: boolean): boolean {
  // Asked first: of requests without a body nothing else has to be looked at.
  if (!hasBody || request.complete) return false;
  const { headers } = request;
  if (headers["transfer-encoding"] !== undefined) return true;
  // Who waits for our leave will not send the body now, though it was announced.
  if (headers.expect !== undefined) return true;
  return Number(headers["content-length"] ?? 0) > UNREAD_BYTES_MAX;
}

/** Connections whose last answer is decided, be it sent or not. */
const closing = new WeakSet<Socket>();

/**
 * Whether a connection is being closed. What is read from it after that is not a request, whatever it
 * looks like: it may be the rest of one that was refused.
 */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket) || socket.writableEnded;
}

/**
 * Has the connection closed after the response. Closing while bytes arrive resets the connection, and
 * takes the answer from a client that has not read it: so it is read from for a moment longer.
 */
function closeGently(socket: Socket, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  closing.add(socket);
  socket.destroySoon = linger;
}

function linger(this: Socket): void {
  if (this.destroyed) return;
  const cancel = after(LINGER_MS, () => this.destroy());
  this.once("close", cancel);
  this.once("end", () => this.destroy());
  this.end();
  this.resume();
}
