/**
 * What Sluice's own packages share with the library besides `sluice/shapes`. What is here may change in any release.
 *
 * @module
 */

export { FNV_START, fnv1a } from "./base/fnv1a.js";
export { andThen, isThenable } from "./base/maybe-promise.js";
export { SpaceSavingSketch, type WatchedCount } from "./base/space-saving.js";
export { JWT_ALGORITHMS } from "./http/identity/jwt/jwt-algorithms.js";
export { BorrowedStore } from "./stores/forwarding-store.js";
