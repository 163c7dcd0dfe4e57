// Fields that a response keeps. Koa takes all fields off a response that becomes an error, and handlers
// may set one of the same name; so they are set once more at the moment that the head is written.

import type { ServerResponse } from "node:http";
import { setFields } from "./node-exchange.js";

/** Sets fields, names and values in turn, when the response's head is written: they are the last word. */
export function keepFields(response: ServerResponse, fields: readonly string[]): void {
  if (fields.length === 0) return;
  const { writeHead } = response;
  response.writeHead = ((...head: unknown[]) => {
    response.writeHead = writeHead;
    if (!response.headersSent) {
      takeFields(response, head);
      setFields(response, fields);
    }
    return writeHead.apply(response, head as Parameters<typeof writeHead>);
  }) as typeof writeHead;
}

/** Fields that are given with the status are set before ours, which `writeHead` would do after. */
function takeFields(response: ServerResponse, head: unknown[]): void {
  const given = head.at(-1);
  if (typeof given !== "object" || given === null || Array.isArray(given)) return;
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) response.setHeader(name, value);
  }
  head.pop();
}
