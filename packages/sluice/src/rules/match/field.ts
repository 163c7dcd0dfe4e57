// What rules can match besides the path: the method, the host, a header, an attribute. Each gives a request's value
// as a string, so that rules can be listed under the values that they require.

import { toValue } from "../normalize/normalize-string.js";
import type { ClientField, ClientMatch, Match } from "../rule.js";
import type { NormalizedRequest } from "./normalized-request.js";

/** One thing that conditions look at. */
export interface MatchField {
  /** What a request has there; undefined if nothing. */
  read(request: NormalizedRequest): string | undefined;
  /** Under what else it is covered: `*.example.com` for a host, GET for HEAD. */
  covers(request: NormalizedRequest): readonly string[];
}

/** What a rule asks of a field: one of some values or, without values, that it is there. */
export interface MatchCondition {
  readonly field: MatchField;
  readonly values: ReadonlySet<string> | undefined;
}

const NONE: readonly string[] = [];
const GET_ONLY: readonly string[] = ["GET"];

/** Whether a request is what a condition asks for. */
export function isMet({ field, values }: MatchCondition, request: NormalizedRequest): boolean {
  const value = field.read(request);
  if (value === undefined) return false;
  if (values === undefined || values.has(value)) return true;
  for (const covering of field.covers(request)) {
    if (values.has(covering)) return true;
  }
  return false;
}

const METHOD: MatchField = {
  read: ({ method }) => method,
  covers: ({ method }) => (method === "HEAD" ? GET_ONLY : NONE),
};

const HOST: MatchField = {
  read: ({ host }) => host,
  covers: (request) => request.wildcards,
};

/** Where no pattern covers several hosts, what might is not even listed. */
const EXACT_HOST: MatchField = { read: HOST.read, covers: () => NONE };

const nothingElse = () => NONE;

/**
 * A header with several lines has the value of each: servers differ in which of them they use, and another line must not
 * take a request out of a rule.
 */
function toHeader(name: string): MatchField {
  return {
    read: ({ facts }) => {
      const lines: unknown = facts.headers?.[name];
      return Array.isArray(lines) ? firstOf(lines) : toValue(lines);
    },
    covers: ({ facts }) => {
      const lines: unknown = facts.headers?.[name];
      return Array.isArray(lines) ? lines.map(toValue).filter(isKnown) : NONE;
    },
  };
}

function toAttribute(name: string): MatchField {
  return name === "scope" ? SCOPE : { read: toAttributeReader(name), covers: nothingElse };
}

/** The scopes of an API key: what asks for one of them is covered by each. */
const SCOPE: MatchField = {
  read: ({ facts: { scopes, attributes } }) =>
    scopes === undefined ? toValue(attributes?.scope) : firstOf(scopes),
  covers: ({ facts: { scopes } }) =>
    scopes === undefined || scopes.length === 1 ? NONE : scopes.map(toValue).filter(isKnown),
};

function firstOf(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const value = toValue(text);
    if (value !== undefined) return value;
  }
  return undefined;
}

function isKnown(value: string | undefined): value is string {
  return value !== undefined;
}

function toAttributeReader(name: string): MatchField["read"] {
  switch (name) {
    case "user":
      return ({ facts }) => toValue(facts.user);
    case "tenant":
      return ({ facts }) => toValue(facts.tenant);
    case "tier":
      return ({ facts }) => toValue(facts.tier);
    default:
      return ({ facts }) => toValue(facts.attributes?.[name]);
  }
}

const CLIENT: Readonly<Record<ClientField, MatchField>> = {
  asn: { read: ({ asn }) => asn, covers: nothingElse },
  country: { read: ({ country }) => country, covers: nothingElse },
  fingerprint: { read: ({ facts }) => toValue(facts.fingerprint), covers: nothingElse },
};

/** A range can't be listed under a value: an address is in one of these or it is not. */
function toRanges(ips: NonNullable<ClientMatch["ips"]>): MatchField {
  const read = ({ facts: { ip } }: NormalizedRequest) =>
    ip !== undefined && ips.has(ip) ? "in" : undefined;
  return { read, covers: nothingElse };
}

function* toClientConditions({ ips, values }: ClientMatch): Generator<MatchCondition> {
  if (ips !== undefined) yield { field: toRanges(ips), values: undefined };
  for (const [name, wanted] of values) yield { field: CLIENT[name], values: new Set(wanted) };
}

/** A match on clients as a string. */
export function toClientText({ ranges, values }: ClientMatch): string {
  return JSON.stringify([ranges, [...values]]);
}

/** The fields of a set of rules: rules that look at the same thing have the same field. */
export class MatchFields {
  readonly #headers = new Map<string, MatchField>();
  readonly #attributes = new Map<string, MatchField>();
  readonly #host: MatchField;
  /** By what they ask: equal ones are one object, which stays in the processor's cache. */
  readonly #conditions = new Map<string, readonly MatchCondition[]>();

  constructor(matches: readonly Match[]) {
    const covers = ({ hosts }: Match) => hosts.some((host) => host.startsWith("*"));
    this.#host = matches.some(covers) ? HOST : EXACT_HOST;
  }

  /** What a match asks for, the path aside. */
  toConditions(match: Match): readonly MatchCondition[] {
    const { methods, hosts, headers, attributes, client } = match;
    const asked = client && toClientText(client);
    const text = JSON.stringify([methods, hosts, [...headers], [...attributes], asked]);
    const known = this.#conditions.get(text) ?? this.#make(match);
    this.#conditions.set(text, known);
    return known;
  }

  #make(match: Match): readonly MatchCondition[] {
    const conditions: MatchCondition[] = [];
    const { methods, hosts } = match;
    if (methods.length > 0) conditions.push({ field: METHOD, values: new Set(methods) });
    if (hosts.length > 0) conditions.push({ field: this.#host, values: new Set(hosts) });
    for (const [name, values] of match.headers) {
      const field = known(this.#headers, name, toHeader);
      conditions.push({ field, values: toValues(values) });
    }
    for (const [name, values] of match.attributes) {
      const field = known(this.#attributes, name, toAttribute);
      conditions.push({ field, values: toValues(values) });
    }
    if (match.client !== undefined) conditions.push(...toClientConditions(match.client));
    return conditions;
  }
}

function known(
  fields: Map<string, MatchField>,
  name: string,
  make: (name: string) => MatchField,
): MatchField {
  const field = fields.get(name) ?? make(name);
  fields.set(name, field);
  return field;
}

/** Values as requests have them. One that no request can have is left out. */
function toValues(values: readonly string[]): ReadonlySet<string> | undefined {
  if (values.length === 0) return undefined;
  return new Set(values.map(toValue).filter(isKnown));
}
