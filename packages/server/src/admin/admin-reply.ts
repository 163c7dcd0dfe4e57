// Replies of the admin port: JSON, text, and problem bodies.

import type { ServerResponse } from "node:http";
import { SluiceError } from "sluice";
import { ServerError } from "../base/errors.js";
import { toProblemBody } from "../base/http/problem.js";
import { ADMIN_HEADER } from "./reply-schemas.js";

/** The reply of a route. */
export interface AdminReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** In addition to the headers of every reply. */
  readonly headers?: Readonly<Record<string, string>>;
}

const INTERNAL = {
  code: "SLUICE_FAULT",
  status: 500,
  message: "internal error; the log has the details",
};

/** A path does not support the request's method. */
export class MethodError extends ServerError {
  /** The methods that it supports: `GET, HEAD`. */
  readonly allowed: string;

  constructor(seen: string, allowed: string) {
    super("SLUICE_METHOD_NOT_ALLOWED", seen);
    this.allowed = allowed;
  }
}

/** A JSON reply. Infinity becomes null. */
export function json(value: unknown, status = 200): AdminReply {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n` };
}

/** A reply in plain text. */
export function text(body: string, type = "text/plain; charset=utf-8"): AdminReply {
  return { status: 200, type, body };
}

/**
 * The reply to an error. Errors that are not Sluice's are not described; the log has them.
 *
 * @param toStatus - Replaces the status of one of Sluice's errors.
 */
export function problem(
  error: unknown,
  toStatus: (status: number) => number = (own) => own,
): AdminReply {
  const isOurs = error instanceof ServerError || error instanceof SluiceError;
  const { code, message } = isOurs ? error : INTERNAL;
  const status = isOurs ? toStatus(error.status) : INTERNAL.status;
  const headers: Record<string, string> = {
    ...(error instanceof MethodError ? { Allow: error.allowed } : {}),
    ...(status === 401 ? { "WWW-Authenticate": "Bearer" } : {}),
    // The rest of the body is not read.
    ...(status === 413 ? { Connection: "close" } : {}),
  };
  return {
    status,
    type: "application/problem+json",
    body: `${toProblemBody({ status, code, detail: message })}\n`,
    headers,
  };
}

/** Sends a reply. A header with Sluice's version identifies the admin port to the command. */
export function send(
  response: ServerResponse,
  { status, type, body, headers }: AdminReply,
  version: string,
): void {
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    [ADMIN_HEADER]: version,
    ...headers,
  });
  response.end(body);
}
