// The bodies of problems (RFC 9457), the same at every door.

import { STATUS_CODES } from "node:http";

/** What is told of an error. What is left out is not written. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail?: string;
  /** The field of the request that it is about. */
  readonly field?: string;
}

/** As RFC 9110 has them; Node knows older names. */
const TITLES: Readonly<Record<number, string>> = {
  413: "Content Too Large",
  422: "Unprocessable Content",
};

/** What a status is called. */
export function titleOf(status: number): string {
  return TITLES[status] ?? STATUS_CODES[status] ?? "Error";
}

/** The body of a problem. */
export function toProblemBody({ status, code, detail, field }: Problem): string {
  const title = titleOf(status);
  return JSON.stringify({ type: "about:blank", title, status, code, detail, field });
}
