// The names of status codes, as RFC 9110 spells them; Node has older names for some.

import { STATUS_CODES } from "node:http";

const NEWER_NAMES: Readonly<Record<number, string>> = {
  413: "Content Too Large",
  422: "Unprocessable Content",
};

/** The reason phrase of a status code: `Not Found` for 404; `Error` for one that is not registered. */
export function reasonPhraseOf(status: number): string {
  return NEWER_NAMES[status] ?? STATUS_CODES[status] ?? "Error";
}
