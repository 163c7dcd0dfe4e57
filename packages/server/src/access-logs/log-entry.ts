// What one line of an access log says of its request. One entry is filled in again for every line, and is the facts by
// which the request is decided: a log of ten million lines does not make ten million objects.

import type { Facts } from "sluice/rules";
import { toIpv4Text } from "./ipv4.js";

/** A method and a request target. Lines that have the same share one. */
export class RequestLine {
  readonly method: string;
  readonly path: string;
  /** Where batches are written: its place in their dictionary, and the number of the dictionary. */
  serial = -1;

  constructor(method: string, path: string) {
    this.method = method;
    this.path = path;
  }
}

/** Methods and request targets that many lines have in common. */
export interface LineList {
  readonly lines: readonly (RequestLine | undefined)[];
  /** What the reader of the log keeps for each, at the same place. */
  readonly memos: unknown[];
}

/** Clients that many lines have in common. */
export interface ClientList {
  /** As numbers if they are addresses of IPv4. */
  readonly addresses: readonly (string | number | undefined)[];
  /** Two numbers for each client, 0 at first, for the reader of the log to fill in. */
  readonly notes: Int32Array;
}

/** A line, read. What a log does not say is undefined. */
export class LogEntry implements Facts {
  method = "";
  /** The request target: a path with its query, or a whole URL. */
  path = "";
  /** The client's address, unless it is in `ipv4`; until trusted proxies are looked through, that of the peer. */
  ip: string | undefined = undefined;
  host: string | undefined = undefined;
  user: string | undefined = undefined;
  apiKey: string | undefined = undefined;
  tenant: string | undefined = undefined;
  tier: string | undefined = undefined;
  /** Only those that are needed, by lower-case name. */
  headers: Record<string, string | undefined> | undefined = undefined;
  attributes: Record<string, string | undefined> | undefined = undefined;
  /** Method and path, while it is read; undefined for formats that fill in both instead. */
  line: RequestLine | undefined = undefined;
  /** What it asked for, until `fillIn` says its method and path; undefined while it is read. */
  lines: LineList | undefined = undefined;
  /** Its place in this list. */
  lineAt = 0;
  /** The address as a number if it is one of IPv4, in the same way; NaN for others, and for formats that don't make it. */
  ipv4 = Number.NaN;
  /** Who the client is, until `fillIn` says its address; undefined while it is read and once it was found behind a proxy. */
  clients: ClientList | undefined = undefined;
  /** Its place in that list. */
  client = 0;
  /** Unix milliseconds. */
  atMs = 0;
  /** The addresses that proxies added, as X-Forwarded-For has them. */
  forwardedFor: string | undefined = undefined;
  /** The status of the response; 0 if the log does not say it. */
  status = 0;
  /** Bytes of the response's body; -1 if the log does not say it. */
  bodyBytes = -1;
  /** Whether `line`, the address, the time, the status and the size are all that the line says. */
  isPlain = false;

  /** Fills in method, path and address where lists, `line` or `ipv4` have them. */
  fillIn(): this {
    const { ipv4, clients, client } = this;
    const line = this.line ?? this.lines?.lines[this.lineAt];
    if (line !== undefined) {
      this.method = line.method;
      this.path = line.path;
    }
    const address = clients === undefined ? ipv4 : clients.addresses[client];
    if (typeof address === "string") this.ip = address;
    else if (address !== undefined && !Number.isNaN(address)) this.ip = toIpv4Text(address);
    return this;
  }
}

/** What has to be read of lines beyond what every rule may need: reading the rest would take time for nothing. */
export interface EntryNeeds {
  /** Names of headers, in lower case. */
  readonly headers: ReadonlySet<string>;
  /** Whether the client's address is found behind proxies. */
  readonly forwardedFor: boolean;
}

/** Nothing but method, path, address and user. */
export const NO_NEEDS: EntryNeeds = { headers: new Set(), forwardedFor: false };
