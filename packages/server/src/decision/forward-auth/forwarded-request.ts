// The request that a proxy asks about, read from the headers that the proxy wrote. Each variant reads only its own
// headers: a proxy that sets X-Original-URI forwards its client's X-Forwarded-Uri unchanged.

import { isIP } from "node:net";
import type { HandledRequest, HttpRequest, IdentityOptions, RequestHandler } from "sluice/http";
import type { Facts } from "sluice/rules";
import type { Exchange, HeaderValues } from "sluice-http1";
import { ServerError, show } from "../../base/errors.js";
import type { DecidedRequest } from "../../telemetry/reported.js";

/** How a proxy asks: `/check` with X-Forwarded-* headers, `/check/nginx` with X-Original-* and X-Real-IP. */
export type Variant = "forwarded" | "nginx";

/** The headers of a variant, in lower case. */
interface FactFields {
  readonly method: string;
  readonly target: string;
  readonly host: string;
}

const FIELDS: Readonly<Record<Variant, FactFields>> = {
  forwarded: {
    method: "x-forwarded-method",
    target: "x-forwarded-uri",
    host: "x-forwarded-host",
  },
  nginx: { method: "x-original-method", target: "x-original-uri", host: "x-original-host" },
};

/** The identity that reads a variant's client address. The host is read here, from the variant's own header. */
export function toIdentity(variant: Variant, identity: IdentityOptions): IdentityOptions {
  const own = { ...identity, forwardedHost: false };
  return variant === "nginx" ? { ...own, clientAddress: REAL_IP } : own;
}

/** A request behind a proxy, as listeners and telemetry see it. */
export class ForwardedRequest implements HttpRequest, DecidedRequest {
  readonly raw: Exchange;
  readonly method: string;
  readonly target: string;
  readonly #host: HeaderValues[string];
  readonly #handler: Pick<RequestHandler, "factsOf">;
  #headers: HeaderValues | undefined = undefined;
  /** Set once it is decided. */
  handled: HandledRequest | undefined = undefined;

  /** @throws ServerError that says which header is missing or can't be used. */
  constructor(
    raw: Exchange,
    variant: Variant,
    clientAddress: AddressSource,
    handler: Pick<RequestHandler, "factsOf">,
  ) {
    const fields = FIELDS[variant];
    this.raw = raw;
    // What the proxy says about the request is read even if Connection names it: the client may have written that.
    this.method = readMethod(this.received, fields.method);
    this.target = readTarget(this.received, fields.target);
    mustHaveClient(this.received, variant === "nginx" ? REAL_IP : clientAddress);
    this.#host = this.received[fields.host];
    this.#handler = handler;
  }

  get path(): string {
    return this.target;
  }

  toFacts(): Facts {
    const { handled } = this;
    return handled === undefined ? this : this.#handler.factsOf(this, handled);
  }

  /** The client's own headers without the hop-by-hop ones. */
  get headers(): HeaderValues {
    this.#headers ??= this.#toHeaders();
    return this.#headers;
  }

  get received(): HeaderValues {
    return this.raw.fields.values;
  }

  /** The Host of this request is Sluice's; rules are about the client's. */
  #toHeaders(): HeaderValues {
    const headers = this.raw.fields.passedValues(true);
    const host = this.#host;
    return typeof host === "string" && host !== "" ? { ...headers, host } : headers;
  }

  get peer(): string | undefined {
    return this.raw.peer;
  }

  /** Proxies send no body along. */
  readBody(): undefined {
    return undefined;
  }
}

type AddressSource = IdentityOptions["clientAddress"];

const REAL_IP = { header: "x-real-ip" };

/** RFC 9110: the characters of a method. Two header lines, joined by a comma, are not a method. */
const METHOD = /^[!#$%&'*+.^_`|~\w-]{1,64}$/;
/** A request target: no blank, so that two header lines, joined, are not a target. */
const TARGET = /^(?:\/|https?:\/\/|\*$)[\x21-\x7e\x80-\xff]*$/;

function readMethod(headers: HeaderValues, name: string): string {
  const method = mustHave(headers, name);
  if (METHOD.test(method)) return method;
  throw invalid(name, "must be a method", method);
}

function readTarget(headers: HeaderValues, name: string): string {
  const target = mustHave(headers, name);
  if (TARGET.test(target)) return target;
  throw invalid(name, "must be a path with its query", target);
}

/** Without the client's address, all clients behind the proxy would count as one. */
function mustHaveClient(headers: HeaderValues, source: AddressSource = "x-forwarded-for"): void {
  if (typeof source === "function") return;
  const name = typeof source === "string" ? source : source.header;
  const given = mustHave(headers, name);
  if (name === "forwarded") return;
  const last = given.slice(given.lastIndexOf(",") + 1).trim();
  if (isIP(toBare(last)) === 0) throw invalid(name, "must end in an address", given);
}

/** Without brackets and port. */
function toBare(address: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1];
  return bracketed ?? address.replace(/^([\d.]+):\d+$/, "$1");
}

function mustHave(headers: HeaderValues, name: string): string {
  const given = headers[name];
  const text = typeof given === "string" ? given : given?.join(",");
  if (text !== undefined && text.trim() !== "") return text;
  const seen = `the header ${toTitle(name)} is missing; configure the proxy to send it`;
  throw new ServerError("SLUICE_REQUEST_INVALID", seen);
}

function invalid(name: string, what: string, seen: string): ServerError {
  const text = `the header ${toTitle(name)} ${what}, got ${show(seen)}`;
  return new ServerError("SLUICE_REQUEST_INVALID", text);
}

/** `x-original-uri` as proxies write it. */
function toTitle(name: string): string {
  return name
    .replace(/(?:^|-)\w/g, (first) => first.toUpperCase())
    .replace(/-Ip$/, "-IP")
    .replace(/^X-Original-Uri$/, "X-Original-URI");
}
