// The head of a backend's response, as the client gets it. It is made once for each different head, not for each response:
// most responses have the same head for a second. Our own headers are joined to it as a string.

import { toLines } from "sluice/http";
import type { Exchange, ResponseHead } from "sluice-http1";
import { startsWithName } from "sluice-http1/field-names";
import { toClientFields } from "./forwarded-headers.js";

/** What a client gets of a head: all headers but those that frame the body. */
export interface ClientHead {
  readonly lines: string;
  /** The same without the backend's own headers about rate limits. */
  readonly linesBesideOurs: string;
  readonly hasDate: boolean;
}

const CLIENT_HEAD = Symbol("sluice.client-head");
type Memorable = ResponseHead & { [CLIENT_HEAD]?: ClientHead };

/** A header of the backend's head, by lower-case name. */
export function findField({ fields }: ResponseHead, name: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i].toLowerCase() === name) return fields[i + 1];
  }
  return undefined;
}

/** What a client gets of a head. */
export function clientHeadOf(head: Memorable): ClientHead {
  head[CLIENT_HEAD] ??= toClientHead(head);
  return head[CLIENT_HEAD];
}

/**
 * Begins a response with the head of a backend.
 *
 * @param ours - Our RateLimit headers, which replace the backend's; if empty, as where no rule matched, the backend's stay.
 */
export function beginResponse(exchange: Exchange, head: ResponseHead, ours: string): void {
  const { status, reason, length } = head;
  exchange.begin(status, reason, linesOf(head, ours), length, clientHeadOf(head).hasDate);
}

/** Passes on the whole of a short response. */
export function passResponse(
  exchange: Exchange,
  head: ResponseHead,
  ours: string,
  text: string,
): void {
  const { status, reason } = head;
  exchange.pass(status, reason, linesOf(head, ours), text, clientHeadOf(head).hasDate);
}

/** The headers of a response, ours before the backend's. */
export function linesOf(head: ResponseHead, ours: string): string {
  const { lines, linesBesideOurs } = clientHeadOf(head);
  return ours === "" ? lines : ours + linesBesideOurs;
}

function toClientHead(head: ResponseHead): ClientHead {
  const fields = withoutFraming(toClientFields(head.fields));
  return {
    lines: toLines(fields),
    linesBesideOurs: toLines(keep(fields, (name) => !isRateLimit(name))),
    hasDate: findField(head, "date") !== undefined,
  };
}

/** Trailers are not forwarded, so none are announced. */
const FRAMING: ReadonlySet<string> = new Set(["content-length", "trailer"]);

/** All headers but those that frame the body: the exchange writes them. */
function withoutFraming(fields: readonly string[]): string[] {
  return keep(fields, (name) => !FRAMING.has(name.toLowerCase()));
}

function keep(fields: readonly string[], isKept: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (isKept(fields[i])) kept.push(fields[i], fields[i + 1]);
  }
  return kept;
}

/** Whether a header is one that the gateway writes itself: `RateLimit…` or `X-RateLimit…`. */
function isRateLimit(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20;
  if (first === 0x72) return startsWithName(name, "ratelimit");
  return first === 0x78 && startsWithName(name, "x-ratelimit");
}
