// Randomness for telemetry: the secret that keys are hashed with, and numbers that choose which decisions are logged.

import { randomBytes } from "node:crypto";

const SECRET_BYTES = 32;

/** A secret for this process alone. */
export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** A fast generator of numbers from 0 to below 1, for sampling; never for secrets. */
export function createRandom(seed: number = randomBytes(4).readUInt32LE()): () => number {
  // xorshift32, which stays at 0 if it starts there.
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
