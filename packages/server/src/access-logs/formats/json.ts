// Lines of JSON, one object each: of Caddy, of Envoy, or of any program, by a map of fields.

import { hashSecret } from "sluice/http";
import { toBareAddress } from "sluice/internals";
import type { EntryNeeds, LogEntry } from "../log-entry.js";
import type { FormatFacts, LineReader, LogFormat } from "../log-format.js";
import { readRequestLine, SPACE } from "./bytes.js";
import { CADDY_FIELDS, ENVOY_FIELDS, type FieldFact, type FieldMap } from "./field-map.js";
import { parseTime } from "./times.js";

/** The problem of a line that is not JSON at all. */
export const NOT_JSON = "not a JSON object";

type Fields = Readonly<Record<string, unknown>>;

/** The format of lines with these fields. */
export function jsonFormat(
  name: "caddy" | "envoy" | "json",
  title: string,
  fields: FieldMap,
): LogFormat {
  return {
    name,
    title,
    facts: toFormatFacts(fields),
    fields,
    createReader: (needs) => new JsonReader(fields, needs),
  };
}

/** Caddy's access log. */
export const caddy: LogFormat = jsonFormat("caddy", "Caddy JSON", CADDY_FIELDS);

/** Envoy's access log in JSON. */
export const envoy: LogFormat = jsonFormat("envoy", "Envoy JSON", ENVOY_FIELDS);

function toFormatFacts({ facts, headers, attributes, allHeaders }: FieldMap): FormatFacts {
  const has = (fact: FieldFact) => facts[fact] !== undefined;
  return {
    user: has("user"),
    host: has("host"),
    tenant: has("tenant"),
    tier: has("tier"),
    apiKey: has("apiKey"),
    status: has("status"),
    bodyBytes: has("bytes"),
    forwardedFor: has("forwardedFor"),
    headers: allHeaders === undefined ? new Set(headers.keys()) : "any",
    attributes: new Set(attributes.keys()),
  };
}

class JsonReader implements LineReader {
  problem = "";
  readonly #fields: FieldMap;
  readonly #needs: EntryNeeds;

  constructor(fields: FieldMap, needs: EntryNeeds) {
    this.#fields = fields;
    this.#needs = needs;
  }

  read(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean {
    const line = isObject(bytes, from, to)
      ? parseObject(bytes.toString("utf8", from, to))
      : undefined;
    if (line === undefined) return this.#fail(NOT_JSON);
    entry.atMs = parseTime(this.#find(line, "time"));
    if (Number.isNaN(entry.atMs)) return this.#failAt(line, "time", "a time from 1970 to 2100");
    const ip = toBareAddress(toText(this.#find(line, "ip")) ?? "");
    if (ip === undefined) return this.#failAt(line, "ip", "an address");
    entry.ip = ip;
    if (!this.#readTarget(line, entry)) return this.#failAtTarget(line);
    entry.host = toText(this.#find(line, "host"));
    entry.user = toText(this.#find(line, "user"));
    entry.tenant = toText(this.#find(line, "tenant"));
    entry.tier = toText(this.#find(line, "tier"));
    const apiKey = toText(this.#find(line, "apiKey"));
    // As the service counts a key that no resolver knows: by its hash.
    entry.apiKey = apiKey === undefined ? undefined : hashSecret(apiKey, undefined);
    const status = Number(this.#find(line, "status") ?? 0);
    entry.status = status >= 100 && status <= 999 ? status : 0;
    const size = Number(this.#find(line, "bytes") ?? -1);
    entry.bodyBytes = Number.isSafeInteger(size) ? size : -1;
    entry.forwardedFor = this.#needs.forwardedFor
      ? toText(this.#find(line, "forwardedFor"))
      : undefined;
    entry.headers = this.#needs.headers.size === 0 ? undefined : this.#readHeaders(line);
    entry.attributes = this.#readAttributes(line);
    return true;
  }

  #readTarget(line: Fields, entry: LogEntry): boolean {
    const method = toText(this.#find(line, "method"));
    const path = toText(this.#find(line, "path"));
    if (method !== undefined && path !== undefined) {
      entry.method = method;
      entry.path = path;
      return true;
    }
    const request = Buffer.from(toText(this.#find(line, "request")) ?? "", "latin1");
    return readRequestLine(request, 0, request.length, entry);
  }

  #readHeaders(line: Fields): Record<string, string | undefined> {
    const found: Record<string, string | undefined> = {};
    const { headers, allHeaders } = this.#fields;
    const all = allHeaders === undefined ? undefined : at(line, allHeaders);
    if (isFields(all)) {
      for (const [name, value] of Object.entries(all)) {
        const lower = name.toLowerCase();
        if (this.#needs.headers.has(lower)) found[lower] = toText(value);
      }
    }
    for (const [name, fields] of headers) {
      if (this.#needs.headers.has(name)) found[name] ??= toText(firstOf(line, fields));
    }
    return found;
  }

  #readAttributes(line: Fields): Record<string, string | undefined> | undefined {
    const { attributes } = this.#fields;
    if (attributes.size === 0) return undefined;
    return Object.fromEntries(
      [...attributes].map(([name, fields]) => [name, toText(firstOf(line, fields))]),
    );
  }

  #find(line: Fields, fact: FieldFact): unknown {
    const fields = this.#fields.facts[fact];
    return fields === undefined ? undefined : firstOf(line, fields);
  }

  #failAtTarget(line: Fields): false {
    if (this.#find(line, "request") !== undefined)
      return this.#failAt(line, "request", "a request line");
    const hasMethod = toText(this.#find(line, "method")) !== undefined;
    return hasMethod
      ? this.#failAt(line, "path", "a path")
      : this.#failAt(line, "method", "a method");
  }

  /** A field has something else than the fact, or no field has it. */
  #failAt(line: Fields, fact: FieldFact, what: string): false {
    const names = this.#fields.facts[fact] ?? [fact];
    const named = names.find((name) => firstOf(line, [name]) !== undefined);
    return this.#fail(
      named === undefined ? `no ${fact} in ${alternatives(names)}` : `${named} is not ${what}`,
    );
  }

  #fail(problem: string): false {
    this.problem = problem;
    return false;
  }
}

/** `a, b or c`. */
function alternatives(names: readonly string[]): string {
  const last = names.length - 1;
  return last < 1 ? names.join("") : `${names.slice(0, last).join(", ")} or ${names[last]}`;
}

const OPENING = 0x7b;
const TAB = 0x09;

/** Whether bytes may be an object. Detection reads lines of every format, and an error costs more than many lines. */
function isObject(bytes: Buffer, from: number, to: number): boolean {
  let at = from;
  while (at < to && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  return bytes[at] === OPENING && at < to;
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstOf(line: Fields, names: readonly string[]): unknown {
  for (const name of names) {
    const value = at(line, name);
    if (value !== undefined && value !== null && value !== "" && value !== "-") return value;
  }
  return undefined;
}

/** The field of that name; else, of a name with dots, the field within fields. */
function at(line: Fields, name: string): unknown {
  if (Object.hasOwn(line, name)) return line[name];
  const dot = name.indexOf(".");
  if (dot < 0) return undefined;
  const outer = name.slice(0, dot);
  const inner: unknown = Object.hasOwn(line, outer) ? line[outer] : undefined;
  return isFields(inner) ? at(inner, name.slice(dot + 1)) : undefined;
}

/** A string or a number; of a list, as headers are in some logs, all of them joined. */
function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" || value === "-" ? undefined : value;
  if (typeof value === "number") return String(value);
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((each) => typeof each === "string" || typeof each === "number");
  return texts.length === 0 ? undefined : texts.join(", ");
}
