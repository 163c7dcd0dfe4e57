// The body that the application hands to a response: how many bytes it has, and what it says about the cost of its
// request, where rules settle by them.

import type { ServerResponse } from "node:http";
import type { HandledRequest } from "../../handler/handled-request.js";
import type { BodyMeter } from "../../response-cost/body-meter.js";
import { readField } from "./response-head.js";

/** What was seen of a body so far. */
export interface WatchedBody {
  readonly bytes: number;
  /** Undefined if no rule settles by it, or nothing was written. */
  readonly meter: BodyMeter | undefined;
}

/** Watches what is handed to the response from now on. */
export function watchBody(handled: HandledRequest, response: ServerResponse): WatchedBody {
  const body = { bytes: 0, meter: undefined as BodyMeter | undefined };
  const isRead = handled.needsBody;
  const { write, end } = response;
  const see = (chunk: unknown, encoding: unknown) => {
    const isText = typeof chunk === "string";
    if (!isText && !(chunk instanceof Uint8Array)) return;
    body.bytes += isText ? Buffer.byteLength(chunk, toEncoding(encoding)) : chunk.byteLength;
    if (!isRead) return;
    // Not before: the application sets its headers first.
    body.meter ??= toMeter(handled, response);
    body.meter?.read(isText ? Buffer.from(chunk, toEncoding(encoding)) : chunk);
  };
  response.write = ((chunk: unknown, ...rest: unknown[]) => {
    see(chunk, rest[0]);
    return write.apply(response, [chunk, ...rest] as Parameters<typeof write>);
  }) as typeof write;
  response.end = ((chunk: unknown, ...rest: unknown[]) => {
    see(chunk, rest[0]);
    if (isRead) body.meter ??= toMeter(handled, response);
    body.meter?.end();
    return end.apply(response, [chunk, ...rest] as Parameters<typeof end>);
  }) as typeof end;
  return body;
}

function toMeter(handled: HandledRequest, response: ServerResponse): BodyMeter | undefined {
  return handled.toBodyMeter({
    contentType: readField(response, "content-type"),
    contentEncoding: readField(response, "content-encoding"),
  });
}

function toEncoding(encoding: unknown): BufferEncoding {
  return typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8";
}
