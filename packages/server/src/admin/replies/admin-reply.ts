// Replies of the admin port: JSON, text, and problem bodies.

import type { ServerResponse } from "node:http";
import { SluiceError } from "sluice";
import type { RulesError } from "sluice/rules";
import { ServerError } from "../../base/errors.js";
import { type Problem, toProblemBody } from "../../base/http/problem.js";
import type { ConflictError } from "../../control/changes/changes.js";
import type { Entity, EntityBody } from "../../control/changes/entity.js";
import { LoginLimitedError } from "../auth/logins.js";
import { ADMIN_HEADER } from "./reply-schemas.js";

/** A reply that is written as it comes, by what makes it. */
export interface StreamedReply {
  /** Writes it, and may go on after it has resolved. Rejects only before it has written anything. */
  stream(response: ServerResponse): void | Promise<void>;
}

/** The reply of a route. */
export interface AdminReply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
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

/** An edit of something that is there, and the request does not say which revision was edited. */
export class PreconditionError extends ServerError {
  /** What is there now. */
  readonly revision: number;

  constructor(revision: number) {
    const how = `send If-Match: ${toETag(revision)} to replace it, or If-Match: * to replace any`;
    super("SLUICE_PRECONDITION_REQUIRED", `it is at revision ${revision}; ${how}`);
    this.revision = revision;
  }
}

/** A JSON reply. Infinity becomes null. */
export function json(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): AdminReply {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n`, headers };
}

/** A JSON reply with the entity tag of a revision, which `If-Match` takes. */
export function versioned<T extends { readonly revision: number }>(
  value: T,
  status = 200,
): AdminReply {
  return json(value, status, { ETag: toETag(value.revision) });
}

/** The entity tag of a revision. */
export function toETag(revision: number): string {
  return `"${revision}"`;
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
  return toProblemReply({ status, code, detail: message }, toProblemHeaders(error, status));
}

/** The status of rules, or of files, that can't be used. */
const UNUSABLE = 422;

/** The reply to rules that can't be used: with every problem, and its line. */
export function unusableRules({ code, message: detail, problems }: RulesError): AdminReply {
  return toProblemReply({ status: UNUSABLE, code, detail, more: { problems } }, {});
}

/** The reply to an edit of something that has changed meanwhile: with what is there now, and what was sent. */
export function conflict(error: ConflictError, yours: unknown): AdminReply {
  const { status, code, message: detail, current } = error;
  const shown = current === undefined ? null : toShown(current);
  const headers = current === undefined ? {} : { ETag: toETag(current.revision) };
  return toProblemReply({ status, code, detail, more: { current: shown, yours } }, headers);
}

/** What an entity says, without hashes of secrets. */
export function toShown({ id, revision, body }: Pick<Entity, "id" | "revision" | "body">): object {
  return { id, revision, ...withoutHash(body) };
}

/** A body without the hash of its secret. */
export function withoutHash({ hash: _, ...body }: EntityBody): EntityBody {
  return body;
}

function toProblemReply(given: Problem, headers: Readonly<Record<string, string>>): AdminReply {
  const body = `${toProblemBody(given)}\n`;
  return { status: given.status, type: "application/problem+json", body, headers };
}

function toProblemHeaders(error: unknown, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error instanceof MethodError) headers.Allow = error.allowed;
  if (error instanceof PreconditionError) headers.ETag = toETag(error.revision);
  if (error instanceof LoginLimitedError)
    headers["Retry-After"] = String(Math.ceil(error.retryAfterMs / 1_000));
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  // The rest of the body is not read.
  if (status === 413) headers.Connection = "close";
  return headers;
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
