// What is known about tenants besides their names: plan, tier and attributes. A resolved API key brings them along; a
// request that names its tenant in another way, by a token or a header, gets them from here.

import type { Facts } from "./facts.js";
import { toValue } from "./normalize/normalize-string.js";
import { ReadThroughFacts } from "./read-through-facts.js";

/** What is known of a tenant. */
export interface TenantProfile {
  readonly plan?: string | undefined;
  readonly tier?: string | undefined;
  /** They replace attributes of the same name that the request has. */
  readonly attributes?: Facts["attributes"];
  /**
   * Where its days and months begin, as an IANA name: for quotas of rules that count by tenant and whose limit has no time
   * zone of its own. One that does not exist is ignored.
   */
  readonly timeZone?: string | undefined;
  /**
   * When its billing periods begin, for the same quotas: the day of the month; or a local date such as
   * `"2024-01-31T09:30"`, whose weekday and time of day hold for weeks and days too.
   */
  readonly billingAnchor?: number | string | undefined;
}

/** Finds what is known of a tenant; undefined if nothing is. Must be quick, and must not throw. */
export type FindTenant = (tenant: string) => TenantProfile | undefined;

/**
 * The facts with the plan, the tier and the attributes of their tenant. Facts that have a plan, or null for none, are complete. A tier that
 * the request brought along stands only where the tenant has none.
 */
export function withProfile(facts: Facts, find: FindTenant | undefined): Facts {
  if (find === undefined) return facts;
  const tenant = facts.plan === undefined ? toValue(facts.tenant) : undefined;
  const profile = tenant === undefined ? undefined : find(tenant);
  return profile === undefined ? facts : new ProfiledFacts(facts, profile);
}

class ProfiledFacts extends ReadThroughFacts {
  readonly #profile: TenantProfile;

  constructor(facts: Facts, profile: TenantProfile) {
    super(facts);
    this.#profile = profile;
  }

  override get tier(): string | undefined {
    return this.#profile.tier ?? this.facts.tier;
  }

  override get plan(): string | null | undefined {
    return this.#profile.plan;
  }

  override get attributes(): Facts["attributes"] {
    const { attributes } = this.#profile;
    return attributes === undefined
      ? this.facts.attributes
      : { ...this.facts.attributes, ...attributes };
  }
}
