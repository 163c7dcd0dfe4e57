// How a forwarded request ended: what settles the charges that it holds, read from its response.

import type { BodyMeter, HandledRequest } from "sluice/http";
import type { RequestEnd } from "sluice/rules";
import type { Exchange, ResponseHead } from "sluice-http1";
import { findField } from "./response-head.js";

/** What reads the body of a backend's response; undefined if no rule settles by it. */
export function toMeter(handled: HandledRequest, head: ResponseHead): BodyMeter | undefined {
  // Asked first: looking for headers takes longer.
  if (!handled.needsBody) return undefined;
  return handled.toBodyMeter({
    contentType: findField(head, "content-type"),
    contentEncoding: findField(head, "content-encoding"),
  });
}

/**
 * How a request ended. Without a status there was no response: the client disconnected before.
 *
 * @param head - Of the backend's response; undefined if the gateway answered.
 * @param bytes - Bytes of the response's body.
 */
export function toRequestEnd(
  { status }: Exchange,
  head: ResponseHead | undefined,
  bytes: number,
  meter: BodyMeter | undefined,
): RequestEnd {
  if (status === undefined) return {};
  const header = (name: string) => (head === undefined ? undefined : findField(head, name));
  return { status, bytes, header, body: head === undefined ? undefined : meter };
}
