// What the URL asks for: a caller by what it is known by, or a key as a rule counts it, which is read back into the
// facts of a request.

import type { UrlQuery } from "../../ui/url-query.js";

/** What a caller can be looked up by. */
export const CALLER_KINDS = ["ip", "user", "apiKey", "tenant"] as const;

/** What a caller is looked up by. */
export type CallerKind = (typeof CALLER_KINDS)[number];

/** Facts of a request, as the service takes them. */
export interface Facts {
  readonly method: string;
  readonly path: string;
  readonly ip?: string;
  readonly user?: string;
  readonly tenant?: string;
  readonly apiKeyHash?: string;
  readonly apiKeyId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** A caller that is looked up, or a key of a rule. */
export type Lookup =
  | { readonly by: "caller"; readonly kind: CallerKind; readonly value: string }
  | { readonly by: "key"; readonly rule: string; readonly key: string };

/** The lookup that a URL asks for; undefined if it asks for none. */
export function lookupOf(query: UrlQuery): Lookup | undefined {
  const { rule = "", key } = query;
  if (key !== undefined && key !== "") return { by: "key", rule, key };
  for (const kind of CALLER_KINDS) {
    const value = query[kind];
    if (value !== undefined && value !== "") return { by: "caller", kind, value };
  }
  return undefined;
}

/** Whether a key is only a digest, as viewers see keys: nothing can be looked up by it. */
export function isDigest(key: string): boolean {
  return /^hmac:/.test(key);
}

type Changes = Partial<Facts>;

/** The facts of a request that a rule would count by this key; undefined if the key has only hashes of them. */
export function factsOfKey(key: string): Changes | undefined {
  let facts: Changes = {};
  for (const part of key.split("|")) {
    const read = factsOfPart(part.trim());
    if (read === undefined) return undefined;
    facts = merge(facts, read);
  }
  return facts;
}

function merge(facts: Changes, more: Changes): Changes {
  const merged: Record<string, unknown> = { ...facts };
  for (const [name, value] of Object.entries(more)) {
    merged[name] = typeof value === "object" ? { ...(merged[name] as object), ...value } : value;
  }
  return merged;
}

function factsOfPart(part: string): Changes | undefined {
  if (part === "global") return {};
  const [, kind, rest = ""] = /^(\w+):(.*)$/s.exec(part) ?? [];
  if (rest.startsWith("%h")) return undefined;
  switch (kind) {
    case "ip":
    case "ipPrefix":
      return { ip: rest.replace(/\/\d+$/, "") };
    case "user":
    case "tenant":
    case "asn":
    case "country":
    case "fingerprint":
      return { [kind]: unescapeValue(rest) };
    case "apiKeyHash":
      return factsOfApiKey(rest);
    case "endpoint": {
      const [method = "GET", path = "/"] = rest.split(" ");
      return { method, path };
    }
    case "header":
    case "body":
    case "attribute":
      return factsOfNamed(kind, rest);
    default:
      return undefined;
  }
}

function factsOfNamed(kind: "header" | "body" | "attribute", rest: string): Changes {
  const colon = rest.indexOf(":");
  const one = { [unescapeValue(rest.slice(0, colon))]: unescapeValue(rest.slice(colon + 1)) };
  if (kind === "body") return { body: one };
  return kind === "header" ? { headers: one } : { attributes: one };
}

const ID_LENGTH = 12;

/** Keys of the control plane are counted by their id, others by a hash. */
export function factsOfApiKey(idOrHash: string): Changes {
  return idOrHash.length === ID_LENGTH ? { apiKeyId: idOrHash } : { apiKeyHash: idOrHash };
}

/** The id in a key of the control plane that was pasted whole; undefined if it is not one. */
export function idOfSecret(text: string): string | undefined {
  return /^slk_([0-9A-Za-z]{12})_/.exec(text)?.[1];
}

function unescapeValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
