// Fields that a response keeps. Koa takes all fields off a response that becomes an error, and handlers
// may set one of the same name; so they are set once more at the moment that the head is written.

import type { ServerResponse } from "node:http";
import { setFields } from "./node-exchange.js";

/** Sets fields, names and values in turn, when the response's head is written. */
export function keepFields(response: ServerResponse, fields: readonly string[]): void {
  if (fields.length === 0) return;
  const { writeHead } = response;
  response.writeHead = ((...head: Parameters<typeof writeHead>) => {
    response.writeHead = writeHead;
    if (!response.headersSent) setFields(response, fields);
    return writeHead.apply(response, head);
  }) as typeof writeHead;
}
