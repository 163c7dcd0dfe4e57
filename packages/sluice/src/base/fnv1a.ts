// FNV-1a, the loop of all hashes that need no protection against chosen keys. Its callers mix the bits further where
// they need them even.

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason (bench service/batch).
const { charCodeAt } = String.prototype;

/** Where FNV-1a begins. */
export const FNV_START = 0x811c9dc5;

/** The state after all characters of a string, as a signed number of 32 bits. Another `start` gives another hash. */
export function fnv1a(text: string, start: number = FNV_START): number {
  let hash = start | 0;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ charCodeAt.call(text, i), 0x01000193);
  }
  return hash;
}
