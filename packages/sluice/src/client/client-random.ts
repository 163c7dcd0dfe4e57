// What the client draws at random: jitter, and the keys of requests that may be repeated.

/** A number from 0 to below 1. */
export type Random = () => number;

// Drawn in blocks: a single draw of the system costs as much as the rest of what the client does for a response.
const words = new Uint32Array(256);
let drawn = words.length;

/** Random numbers of the system. */
export const systemRandom: Random = () => {
  if (drawn === words.length) {
    crypto.getRandomValues(words);
    drawn = 0;
  }
  return (words[drawn++] as number) / 2 ** 32;
};

/** A new idempotency key, as the draft writes it: a string in quotes. */
export function newIdempotencyKey(): string {
  return `"${crypto.randomUUID()}"`;
}
