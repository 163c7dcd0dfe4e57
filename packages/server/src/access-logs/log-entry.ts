// What one line of an access log says of its request. One entry is filled in again for every line, and is the facts by
// which the request is decided: a log of ten million lines does not make ten million objects.

import type { Facts } from "sluice/rules";
import { toIpv4Text } from "./ipv4.js";

/** A method and a request target. Lines that have the same share one. */
export class RequestLine {
  readonly method: string;
  readonly path: string;
  /** For the writer of batches: its place in the dictionary, and the number of the dictionary, in one. */
  serial = -1;

  constructor(method: string, path: string) {
    this.method = method;
    this.path = path;
  }
}

/** Methods and request targets that many lines have in common. */
export interface LineList {
  readonly lines: readonly (RequestLine | undefined)[];
  /** For each, at the same place, what those who decide its requests want to keep; undefined at first. */
  readonly notes: unknown[];
}

/** Clients that many lines have in common. */
export interface ClientList {
  /** As numbers if they are addresses of IPv4. */
  readonly addresses: readonly (string | number | undefined)[];
  /** For each, at twice its place, two numbers that those who decide its requests want to keep; 0 at first. */
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
  /** While a line is read: its method and path; undefined for formats that fill in both themselves. */
  line: RequestLine | undefined = undefined;
  /** While a line is read: an IPv4 address as a number; NaN for other addresses, and for formats that fill in `ip`. */
  ipv4 = Number.NaN;
  /** Once it was read: the list that has its method and path, which `fillIn` copies. */
  lines: LineList | undefined = undefined;
  /** The place in `lines`. */
  lineAt = 0;
  /** Once it was read: the list that has its address, which `fillIn` copies; undefined once `ip` is that of a client behind a proxy. */
  clients: ClientList | undefined = undefined;
  /** The place in `clients`. */
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

  /** Fills in method, path and address from where they are: the lists, `line` or `ipv4`. */
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
