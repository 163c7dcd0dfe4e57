/**
 * What Sluice's own packages share with the library besides `sluice/shapes`. What is here may change in any release.
 *
 * @module
 */

export { BoundedMap } from "./base/bounded-map.js";
export { FNV_START, fnv1a } from "./base/fnv1a.js";
export { andThen, isThenable } from "./base/maybe-promise.js";
export { SpaceSavingSketch, type WatchedCount } from "./base/space-saving.js";
export { spreadHash } from "./base/spread-hash.js";
export { ClientAddresses } from "./http/identity/client-address.js";
export { JWT_ALGORITHMS } from "./http/identity/jwt/jwt-algorithms.js";
export { toBareAddress, toClientAddress } from "./rules/normalize/address.js";
export { canPlan, RequestPlan } from "./rules/policy/policy-request/request-plan.js";
export { BorrowedStore } from "./stores/forwarding-store.js";
export type { PrintedKey } from "./stores/memory/prepared-charges.js";
