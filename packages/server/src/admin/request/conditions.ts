// Conditional requests: which revision an edit was made to. An edit of something that is there has to say it, so that
// two operators can't overwrite each other unseen.

import type { IncomingHttpHeaders } from "node:http";
import { ServerError, show } from "../../base/errors.js";
import { ConflictError } from "../../control/changes/changes.js";
import { PreconditionError } from "../replies/admin-reply.js";

/** What a request says about the revision that it replaces. */
export interface RevisionCondition {
  /** 0: it must not be there yet. Undefined: any, if there is one. */
  readonly revision: number | undefined;
  /** Whether the request says so: without a header, only something new may be written. */
  readonly isSaid: boolean;
}

/**
 * The condition of an edit: `If-Match: "3"`, `If-Match: *` or `If-None-Match: *`.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` if it is said in another form.
 */
export function conditionOf(headers: IncomingHttpHeaders): RevisionCondition {
  const { "if-match": match, "if-none-match": noneMatch } = headers;
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === "*" && match === undefined) return { revision: 0, isSaid: true };
    throw invalid(`If-None-Match must be *, without If-Match, got ${show(noneMatch)}`);
  }
  if (match === undefined) return { revision: 0, isSaid: false };
  return { revision: match.trim() === "*" ? undefined : toRevision(match), isSaid: true };
}

/** The revision that is removed; undefined if the request does not say. */
export function removedRevision(headers: IncomingHttpHeaders): number | undefined {
  return headers["if-match"] === undefined ? undefined : conditionOf(headers).revision;
}

/** Runs an edit. One without a condition fails if there is something that it would replace. */
export async function underCondition<T>(
  { isSaid }: RevisionCondition,
  edit: () => Promise<T>,
): Promise<T> {
  try {
    return await edit();
  } catch (error) {
    if (isSaid || !(error instanceof ConflictError) || error.current === undefined) throw error;
    throw new PreconditionError(error.current.revision);
  }
}

function toRevision(match: string): number {
  const digits = /^\s*"([1-9]\d{0,14})"\s*$/.exec(match)?.[1];
  if (digits !== undefined) return Number(digits);
  throw invalid(`If-Match must be one ETag such as "3", or *, got ${show(match)}`);
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
