// The bodies of problems (RFC 9457), the same at every listener.

import type { JsonSchema } from "sluice/shapes";
import { reasonPhraseOf } from "sluice-http1";

/** What a response says about an error. Fields that are left out are not written. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail?: string;
  /** The field of the request that it is about. */
  readonly field?: string;
  /** Further members of the body. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** The body of a problem. */
export function toProblemBody({ status, code, detail, field, more }: Problem): string {
  const title = reasonPhraseOf(status);
  return JSON.stringify({ type: "about:blank", title, status, code, detail, field, ...more });
}

/** The fields of a problem's response, each with the end of its line. */
export const PROBLEM_LINES =
  "Cache-Control: no-store\r\nContent-Type: application/problem+json\r\n";

/**
 * The whole response to a malformed request, after which its connection is closed.
 *
 * @param lines - Further fields, each ending with CRLF.
 */
export function toRawProblem(problem: Problem, lines = ""): string {
  const body = toProblemBody(problem);
  const { status } = problem;
  const head = `HTTP/1.1 ${status} ${reasonPhraseOf(status)}\r\nConnection: close\r\n${PROBLEM_LINES}`;
  return `${head}${lines}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The schema of a problem. */
export const problemSchema: JsonSchema = {
  type: "object",
  description: "RFC 9457, with a stable code and, where it is about one, the field.",
  properties: {
    type: { const: "about:blank" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string" },
    detail: { type: "string" },
    field: { type: "string" },
  },
  required: ["type", "title", "status", "code", "detail"],
  additionalProperties: false,
};
