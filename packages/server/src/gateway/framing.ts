// How a request's body is framed, and whether its head leaves any doubt about it. Node's parser refuses
// most of what is malformed; here goes what it lets through and what another server could read in another
// way, which is how requests are smuggled.

import type { IncomingMessage } from "node:http";
import * as kind from "./field-names.js";

/** How the end of a body is known. */
export type BodyFraming = "none" | "length" | "chunked";

/**
 * How the body of a request is framed; undefined if the request has to be refused with 400 and its
 * connection closed: other versions than 1.0 and 1.1, a Host that is missing (in 1.1), doubled or no host,
 * a length that is doubled or no number, codings other than `chunked`, or both a length and a coding.
 */
export function readFraming(request: IncomingMessage): BodyFraming | undefined {
  const { rawHeaders: raw, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return undefined;
  let host: string | undefined;
  let length: string | undefined;
  let coding: string | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const known = kind.kindOf(raw[i]);
    if (known === kind.KEPT) continue;
    if (isFraming(known) && raw[i].includes("_")) return undefined;
    if (known === kind.HOST) {
      if (host !== undefined) return undefined;
      host = raw[i + 1];
    } else if (known === kind.CONTENT_LENGTH) {
      if (length !== undefined) return undefined;
      length = raw[i + 1];
    } else if (known === kind.TRANSFER_ENCODING) {
      if (coding !== undefined) return undefined;
      coding = raw[i + 1];
    }
  }
  const hasHost = host === undefined ? httpVersionMinor === 0 : isHost(host);
  return hasHost ? toFraming(length, coding, httpVersionMinor) : undefined;
}

/** Whether a field that is spelt with `_` would frame the body for some servers, and for us not. */
function isFraming(known: number): boolean {
  return known === kind.CONTENT_LENGTH || known === kind.TRANSFER_ENCODING;
}

function toFraming(
  length: string | undefined,
  coding: string | undefined,
  minor: number,
): BodyFraming | undefined {
  if (coding === undefined) {
    if (length === undefined) return "none";
    return isLength(length) ? "length" : undefined;
  }
  // HTTP/1.0 knows no codings: what stands before us may have taken the body for the next request.
  return length === undefined && minor === 1 && isChunked(coding) ? "chunked" : undefined;
}

function isChunked(coding: string): boolean {
  return coding === "chunked" || coding.toLowerCase() === "chunked";
}

/** At most fifteen digits: every server counts so far. */
function isLength(length: string): boolean {
  return /^\d{1,15}$/.test(length);
}

/** A name or address with or without a port; empty is allowed by HTTP and useless to everybody. */
function isHost(host: string): boolean {
  return /^(?:[\w.~!$&'()*+;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i.test(host);
}
