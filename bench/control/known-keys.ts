// The keys, tenants and plans of the benchmarks of API keys: 100,000 keys of 1,000 tenants in three plans.

import { RandomIds } from "../random.js";

export const KEYS = 100_000;
export const TENANTS = 1_000;
/** Characters of a key as it is sent. */
export const KEY_LENGTH = 56;
export const PLANS = ["free", "pro", "max"] as const;

/** A key that was just made. */
export interface MadeKey {
  readonly id: string;
  readonly secret: string;
  readonly hash: string;
}

/** Makes a key; a function of the service that it does not export. */
export type MakeSecret = (use: "apiKey", fillRandom: (bytes: Uint8Array) => void) => MadeKey;

/** The keys, the same in every run. */
export function makeKeys(makeSecret: MakeSecret): readonly MadeKey[] {
  const ids = new RandomIds(256);
  const fill = (bytes: Uint8Array) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = ids.next();
  };
  return Array.from({ length: KEYS }, () => makeSecret("apiKey", fill));
}

/** The id of a tenant; key `n` is one of tenant `n % TENANTS`. */
export function toTenantId(n: number): string {
  return `t${`${n}`.padStart(5, "0")}`;
}

/** Plans, tenants and keys as nodes get them. */
export function toEntities(keys: readonly MadeKey[]): readonly object[] {
  return [...toPlans(), ...toTenants(), ...toKeys(keys)];
}

/** The entities of keys. */
export function toKeys(keys: readonly Pick<MadeKey, "id" | "hash">[]) {
  return keys.map(({ id, hash }, n) => {
    const body = { tenant: toTenantId(n % TENANTS), scopes: ["read"], hash };
    return { kind: "api-key", id, sequence: n + 1, body } as const;
  });
}

function toPlans() {
  return PLANS.map((id) => ({ kind: "plan", id, sequence: 1, body: { tier: id } }) as const);
}

function toTenants() {
  return Array.from({ length: TENANTS }, (_, n) => {
    const body = { plan: PLANS[n % PLANS.length], status: "active" };
    return { kind: "tenant", id: toTenantId(n), sequence: 1, body } as const;
  });
}
