// A hash that spreads keys evenly and is the same in every process. An attacker can choose keys that collide, so
// nothing that needs protection against collisions may use it.

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** FNV-1a with a final mix: a whole number from 0 to below 2^32. Another `salt` gives another spread. */
export function spreadHash(text: string, salt = 0): number {
  let hash = 0x811c9dc5 ^ salt;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ charCodeAt.call(text, i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 15)) >>> 0;
}
