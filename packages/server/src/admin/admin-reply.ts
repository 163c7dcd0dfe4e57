// Answers of the admin port: JSON, text, and problem bodies that say what was seen.

import type { ServerResponse } from "node:http";
import { SluiceError } from "sluice";
import { ServerError } from "../base/errors.js";
import { toProblemBody } from "../base/http/problem.js";
import { ADMIN_FIELD } from "./answer-schemas.js";

/** What a route answers. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Besides those that every answer has. */
  readonly fields?: Readonly<Record<string, string>>;
}

const INTERNAL = {
  code: "SLUICE_FAULT",
  status: 500,
  message: "the service failed; the log says why",
};

/** A method that a path does not answer. */
export class MethodError extends ServerError {
  /** Those that it does: `GET, HEAD`. */
  readonly allowed: string;

  constructor(seen: string, allowed: string) {
    super("SLUICE_METHOD_NOT_ALLOWED", seen);
    this.allowed = allowed;
  }
}

/** JSON; Infinity becomes null. */
export function json(value: unknown, status = 200): Answer {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n` };
}

/** Plain text. */
export function text(body: string, type = "text/plain; charset=utf-8"): Answer {
  return { status: 200, type, body };
}

/**
 * The answer that tells of an error. What is no error of ours says nothing of itself: it is in the log.
 *
 * @param toStatus - Another status for an error of ours than it has.
 */
export function problem(
  error: unknown,
  toStatus: (status: number) => number = (own) => own,
): Answer {
  const isOurs = error instanceof ServerError || error instanceof SluiceError;
  const { code, message } = isOurs ? error : INTERNAL;
  const status = isOurs ? toStatus(error.status) : INTERNAL.status;
  const fields: Record<string, string> = {
    ...(error instanceof MethodError ? { Allow: error.allowed } : {}),
    ...(status === 401 ? { "WWW-Authenticate": "Bearer" } : {}),
    // The rest of the body is not waited for.
    ...(status === 413 ? { Connection: "close" } : {}),
  };
  return {
    status,
    type: "application/problem+json",
    body: `${toProblemBody({ status, code, detail: message })}\n`,
    fields,
  };
}

/** Sends an answer with the version of Sluice in a header, by which the command knows the admin port. */
export function send(
  response: ServerResponse,
  { status, type, body, fields }: Answer,
  version: string,
): void {
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    [ADMIN_FIELD]: version,
    ...fields,
  });
  response.end(body);
}
