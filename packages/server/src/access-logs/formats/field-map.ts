// Where lines of JSON have what is needed of a request: as formats define it, or as `--fields ip=client_ip,time=ts` says.

import { nearestName } from "sluice/rules";

/** The facts that fields can be named for; headers and attributes beside them, as `header.NAME` and `attribute.NAME`. */
export const FIELD_FACTS = [
  "time",
  "ip",
  "forwardedFor",
  "method",
  "path",
  "request",
  "host",
  "user",
  "tenant",
  "tier",
  "apiKey",
  "status",
  "bytes",
] as const;

/** A fact that a field can be named for. */
export type FieldFact = (typeof FIELD_FACTS)[number];

/** Names of fields by fact: the first that a line has counts. `request.uri` is also the field `uri` within `request`. */
export interface FieldMap {
  readonly facts: Readonly<Partial<Record<FieldFact, readonly string[]>>>;
  /** By lower-case name of the header. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** The field with all headers of the request, by name; undefined if there is none. */
  readonly allHeaders: string | undefined;
}

/** Names that are common in logs of JSON, for those without `--fields`. */
export const USUAL_FIELDS: FieldMap = {
  facts: {
    time: ["time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec", "date"],
    ip: ["ip", "client_ip", "remote_addr", "remote_ip", "clientIp", "remoteAddr", "client.ip"],
    forwardedFor: ["x_forwarded_for", "http_x_forwarded_for", "forwardedFor"],
    method: ["method", "request_method", "http.request.method", "httpMethod"],
    path: ["path", "uri", "request_uri", "url", "url.path"],
    request: ["request"],
    host: ["host", "authority", "http_host", "server_name"],
    user: ["user", "user_id", "userId", "remote_user"],
    tenant: ["tenant", "tenant_id", "tenantId"],
    tier: ["tier"],
    status: ["status", "status_code", "response_code", "statusCode"],
    bytes: ["bytes", "size", "bytes_sent", "body_bytes_sent"],
  },
  headers: new Map([
    ["user-agent", ["user_agent", "http_user_agent", "userAgent"]],
    ["referer", ["referer", "http_referer"]],
  ]),
  attributes: new Map(),
  allHeaders: undefined,
};

/** The JSON of Caddy. */
export const CADDY_FIELDS: FieldMap = {
  facts: {
    time: ["ts"],
    // The client as Caddy found it behind the proxies that it trusts; the peer where none are, and before Caddy 2.7.
    ip: ["request.client_ip", "request.remote_ip", "request.remote_addr"],
    forwardedFor: ["request.headers.X-Forwarded-For"],
    method: ["request.method"],
    path: ["request.uri"],
    host: ["request.host"],
    user: ["user_id"],
    status: ["status"],
    bytes: ["size"],
  },
  headers: new Map(),
  attributes: new Map(),
  allHeaders: "request.headers",
};

/** The JSON of Envoy, with the names of its documentation, which Istio uses too. */
export const ENVOY_FIELDS: FieldMap = {
  facts: {
    time: ["start_time"],
    ip: ["downstream_direct_remote_address", "downstream_remote_address", "client_address"],
    forwardedFor: ["x_forwarded_for", "forwarded_for"],
    method: ["method"],
    path: ["x_envoy_original_path", "path"],
    host: ["authority", "host"],
    status: ["response_code"],
    bytes: ["bytes_sent"],
  },
  headers: new Map([["user-agent", ["user_agent"]]]),
  attributes: new Map(),
  allHeaders: undefined,
};

const PREFIXES = { "header.": "headers", "attribute.": "attributes" } as const;
const FIELDS_MAX = 100;

/**
 * Reads `ip=client_ip,time=ts,header.x-plan=plan`. Facts that are not named keep their usual names.
 *
 * @returns The map, or what is wrong in one sentence.
 */
export function parseFieldMap(text: string): FieldMap | string {
  const facts: Partial<Record<FieldFact, readonly string[]>> = { ...USUAL_FIELDS.facts };
  const named = { headers: new Map(USUAL_FIELDS.headers), attributes: new Map<string, string[]>() };
  const pairs = text.split(",");
  if (pairs.length > FIELDS_MAX) return `at most ${FIELDS_MAX} fields, got ${pairs.length}`;
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const [fact, field] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || field === "") return `expected fact=field, got ${JSON.stringify(pair)}`;
    const prefix = Object.keys(PREFIXES).find((each) => fact.startsWith(each)) as
      | keyof typeof PREFIXES
      | undefined;
    if (prefix !== undefined) {
      const name = fact.slice(prefix.length);
      if (name === "") return `expected ${prefix}NAME=field, got ${JSON.stringify(pair)}`;
      named[PREFIXES[prefix]].set(prefix === "header." ? name.toLowerCase() : name, [field]);
    } else if (isFieldFact(fact)) facts[fact] = [field];
    else return sayUnknown(fact);
  }
  return { facts, ...named, allHeaders: undefined };
}

function isFieldFact(name: string): name is FieldFact {
  return (FIELD_FACTS as readonly string[]).includes(name);
}

function sayUnknown(fact: string): string {
  const nearest = nearestName(fact, FIELD_FACTS);
  const hint = nearest === undefined ? "" : `did you mean ${nearest}? `;
  const known = [...FIELD_FACTS, "header.NAME", "attribute.NAME"].join(", ");
  return `unknown fact ${JSON.stringify(fact)}; ${hint}known: ${known}`;
}
