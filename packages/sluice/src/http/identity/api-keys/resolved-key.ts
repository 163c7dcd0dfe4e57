// What an API key stands for. What a look-up answered is checked and copied: it may be a row of a database with more in
// it than is meant to be kept.

import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";

/** The most characters of an id, a tenant, a tier or a plan. */
export const FACT_LENGTH_MAX = 256;

/** What a key stands for, apart from its id. */
export type KeyFacts = Omit<ResolvedKey, "id">;

/** What an API key stands for. */
export interface ResolvedKey {
  /**
   * What the caller is counted by under `key: apiKey`: 1 to 256 characters, never the key itself. Keep it over a
   * rotation, or the new key starts with a full limit.
   */
  readonly id: string;
  readonly tenant?: string | undefined;
  /** Which of a rule's tiers applies. */
  readonly tier?: string | undefined;
  /** Which plan's limits apply. Null: the tenant is known to have none, and `policy.describeTenants` is not asked. */
  readonly plan?: string | null | undefined;
  /** What the key may be used for. Rules match it as the attribute `scope`, which no header or token then sets. */
  readonly scopes?: readonly string[] | undefined;
  /** Anything else that rules match or count by, by name. */
  readonly attributes?: Readonly<Record<string, string | number | undefined>> | undefined;
}

const SCOPES_MAX = 100;
const ATTRIBUTES_MAX = 100;
const ATTRIBUTE_LENGTH_MAX = 1_024;

/** The key that was found. Of values that can't be used only the type is shown: they may be private. */
export function toResolvedKey(site: OptionSite, found: unknown): ResolvedKey {
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    refuse(site, `lookup must answer an object, undefined or null, got ${typeof found}`);
  }
  const { id, tenant, tier, plan, scopes, attributes } = found as Record<string, unknown>;
  return {
    id: textOf(site, "id", id) ?? refuse(site, "lookup: id must be a string, got nothing"),
    tenant: textOf(site, "tenant", tenant),
    tier: textOf(site, "tier", tier),
    plan: textOf(site, "plan", plan),
    scopes: scopesOf(site, scopes),
    attributes: attributesOf(site, attributes),
  };
}

/** A column that is empty is not known. */
function textOf(site: OptionSite, field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const isText = typeof value === "string" && value !== "" && value.length <= FACT_LENGTH_MAX;
  if (isText) return value;
  refuse(site, `lookup: ${field} must be a string of 1 to 256 characters, got ${typeof value}`);
}

function scopesOf(site: OptionSite, value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const isList = Array.isArray(value) && value.length <= SCOPES_MAX;
  if (isList && value.every((scope) => typeof scope === "string")) return [...value];
  refuse(site, `lookup: scopes must be a list of up to ${SCOPES_MAX} strings`);
}

function attributesOf(site: OptionSite, value: unknown): ResolvedKey["attributes"] {
  if (value === undefined || value === null) return undefined;
  const entries = typeof value === "object" ? Object.entries(value) : [];
  if (typeof value !== "object" || entries.length > ATTRIBUTES_MAX) {
    refuse(site, `lookup: attributes must be an object of up to ${ATTRIBUTES_MAX} fields`);
  }
  // No name is special, `__proto__` neither.
  const attributes: Record<string, string | number> = Object.create(null);
  for (const [name, one] of entries) {
    if (one === undefined || one === null) continue;
    const isText = typeof one === "string" && one.length <= ATTRIBUTE_LENGTH_MAX;
    if (!isText && !Number.isFinite(one)) {
      refuse(site, `lookup: an attribute must be a short string or a number, got ${typeof one}`);
    }
    attributes[name] = one;
  }
  return attributes;
}
