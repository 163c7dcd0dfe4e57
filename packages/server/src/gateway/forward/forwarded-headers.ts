// Headers on their way through the gateway. Those that belong to one connection end here and are written again for the
// next: Host, the framing of the body, and who the client is. The client's copies are removed first and ours are added
// afterwards, so that no `Connection: X-Forwarded-For` can remove ours.

import { type BodyFraming, toPassedFields } from "sluice-http1";
import * as kind from "sluice-http1/field-names";
import type { RouteConfig } from "../../config/config.js";

/** What the headers of a forwarded request are made of, besides the client's. */
export interface UpstreamFieldsOptions {
  readonly route: RouteConfig;
  /** `host:port` of the backend. */
  readonly backendHost: string;
  /** The address at the other end of the client's connection; undefined if it is gone. */
  readonly clientPeer: string | undefined;
  /** Whether the peer is trusted to speak for the client. */
  readonly isPeerTrusted: boolean;
  /** How the client's connection came in. */
  readonly protocol: "http" | "https";
  readonly bodyFraming: BodyFraming;
  /** Whether the backend is asked not to compress its response, because a rule settles by what the body says. */
  readonly isUnencoded: boolean;
  /** The protocol that is asked for, if the connection is to be upgraded. */
  readonly upgrade?: string | undefined;
}

/**
 * The head of a forwarded request without its request line, with the empty line at its end. Write it as `latin1`: that is
 * how heads are read, so every byte is forwarded as it came.
 *
 * @param raw - Names and values in turn, as the client wrote them.
 */
export function toUpstreamFields(raw: readonly string[], options: UpstreamFieldsOptions): string {
  const seen = new Seen();
  seen.takesTrailers = takesTrailers(raw);
  const passed = toPassedFields(raw, options.isPeerTrusted);
  let fields = "";
  for (let i = 0; i < passed.length; i += 2) {
    const known = kind.kindOf(passed[i]);
    if (known === kind.HOST) seen.host = passed[i + 1];
    else if (known === kind.CONTENT_LENGTH) seen.length = passed[i + 1];
    else if (options.isUnencoded && isAcceptEncoding(passed[i])) continue;
    else fields += toLine(known, passed[i], passed[i + 1], seen);
  }
  if (options.isUnencoded) fields += "Accept-Encoding: identity\r\n";
  const host = `Host: ${toHost(seen, options)}\r\n`;
  return `${host}${fields}${toForwarded(seen, options)}${toEnd(seen, options)}`;
}

function isAcceptEncoding(name: string): boolean {
  return name.length === 15 && name.toLowerCase() === "accept-encoding";
}

/** What the client's headers said and we write ourselves. */
class Seen {
  host = "";
  forwardedFor = "";
  hasProto = false;
  hasHost = false;
  takesTrailers = false;
  length = "";
}

/** Whether the client accepts trailers. `TE` is hop-by-hop, so the gateway says `trailers` again by itself. */
function takesTrailers(raw: readonly string[]): boolean {
  for (let i = 0; i < raw.length; i += 2) {
    const isTe = raw[i].length === 2 && kind.kindOf(raw[i]) === kind.TE;
    if (isTe && /(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i.test(raw[i + 1])) return true;
  }
  return false;
}

/** The line of a header. X-Forwarded-For is written later, with the peer's address added. */
function toLine(known: number, name: string, value: string, seen: Seen): string {
  if (known === kind.FORWARDED_FOR) {
    if (value !== "") seen.forwardedFor += `${value}, `;
    return "";
  }
  if (known === kind.FORWARDED_PROTO) seen.hasProto = true;
  else if (known === kind.FORWARDED_HOST) seen.hasHost = true;
  return `${name}: ${value}\r\n`;
}

function toHost({ host }: Seen, { route, backendHost }: UpstreamFieldsOptions): string {
  return route.preserveHost && host !== "" ? host : backendHost;
}

function toForwarded(seen: Seen, { clientPeer, protocol }: UpstreamFieldsOptions): string {
  let lines = "";
  const peer = clientPeer === undefined ? "" : toAddress(clientPeer);
  const addresses = peer === "" ? seen.forwardedFor.slice(0, -2) : seen.forwardedFor + peer;
  if (addresses !== "") lines += `X-Forwarded-For: ${addresses}\r\n`;
  if (!seen.hasProto) lines += `X-Forwarded-Proto: ${protocol}\r\n`;
  if (!seen.hasHost && seen.host !== "") lines += `X-Forwarded-Host: ${seen.host}\r\n`;
  return lines;
}

/** An address in its usual form: a socket for both families shows IPv4 addresses as IPv6 ones. */
function toAddress(peer: string): string {
  return peer.startsWith("::ffff:") && peer.includes(".") ? peer.slice(7) : peer;
}

function toEnd(seen: Seen, { bodyFraming, upgrade }: UpstreamFieldsOptions): string {
  if (upgrade !== undefined) return `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`;
  const te = seen.takesTrailers ? "TE: trailers\r\nConnection: TE\r\n" : "";
  if (bodyFraming === "chunked") return `${te}Transfer-Encoding: chunked\r\n\r\n`;
  if (bodyFraming === "length") return `${te}Content-Length: ${seen.length}\r\n\r\n`;
  return `${te}\r\n`;
}

/**
 * The headers of a response as the client gets them, names and values in turn: without those that belong to the
 * backend's connection. `Content-Length` stays; `Transfer-Encoding` is dropped, since each sender chooses its framing.
 */
export function toClientFields(raw: readonly string[]): string[] {
  const kept: string[] = [];
  let names: ReadonlySet<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i];
    if (kind.kindOf(name) === kind.CONNECTION) names = join(names, kind.namesIn(raw[i + 1]));
    else if (!endsHere(name)) kept.push(name, raw[i + 1]);
  }
  return names === undefined ? kept : without(kept, names);
}

function endsHere(name: string): boolean {
  const known = kind.kindOf(name);
  return known === kind.DROPPED || known === kind.TRANSFER_ENCODING || known === kind.TE;
}

function join(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined) {
  return a === undefined || b === undefined ? (a ?? b) : new Set([...a, ...b]);
}

/** `Connection` can't remove the response's length, which frames its body. */
function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i].toLowerCase();
    if (name === "content-length" || !names.has(name)) kept.push(fields[i], fields[i + 1]);
  }
  return kept;
}
