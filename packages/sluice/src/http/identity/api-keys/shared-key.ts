// What the keys of one tenant have in common. A resolver that knows its keys makes this once for all of them and
// returns it for each request, which then allocates nothing for its key (bench control/key-lookup).

import { toTenantKey } from "../../../rules/identity-keys/key.js";
import type { KeyFacts, ResolvedKey } from "./resolved-key.js";

/** Derives the id of a key from the key as it was sent: 1 to 256 characters, as in {@link ResolvedKey}. */
export type IdOfKey = (sent: string) => string;

/** An answer of a resolver that stands for several keys. It is trusted, and not checked again. @internal */
export class SharedKey implements KeyFacts {
  readonly tenant: string | undefined;
  readonly tier: string | undefined;
  readonly plan: string | null | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly attributes: ResolvedKey["attributes"];
  /** The tenant as rules count it. */
  readonly tenantKey: string | undefined;
  readonly #idOf: IdOfKey;

  constructor({ tenant, tier, plan, scopes, attributes }: KeyFacts, idOf: IdOfKey) {
    this.tenant = tenant;
    this.tier = tier;
    this.plan = plan;
    this.scopes = scopes;
    this.attributes = attributes;
    this.tenantKey = toTenantKey(tenant);
    this.#idOf = idOf;
  }

  /** The id of one of the keys. */
  idOf(sent: string): string {
    return this.#idOf(sent);
  }

  /** All that one of the keys stands for, under its id or that of the key that it is counted as. */
  withId(id: string): ResolvedKey {
    const { tenant, tier, plan, scopes, attributes } = this;
    return { id, tenant, tier, plan, scopes, attributes };
  }
}
