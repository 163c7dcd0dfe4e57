// A hash that spreads keys evenly and is the same in every process. An attacker can choose keys that collide, so
// nothing that needs protection against collisions may use it.

import { FNV_START, fnv1a } from "./fnv1a.js";

/** FNV-1a with a final mix: a whole number from 0 to below 2^32. Another `salt` gives another spread. */
export function spreadHash(text: string, salt = 0): number {
  let hash = fnv1a(text, FNV_START ^ salt);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 15)) >>> 0;
}
