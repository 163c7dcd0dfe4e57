// Proof of work: a solution is a short string that gives the SHA-256 of challenge and solution enough zero bits in front.
// Finding one takes about 2^bits hashes; checking one takes a single hash of a short string.

import { createHash } from "node:crypto";

/** Digits and letters of a counter, as solvers write it. */
const SOLUTION = /^[0-9a-z]{1,16}$/;
const BASE = 36;

/** Whether a solution solves a challenge. Anything but a short counter is refused before it is hashed. */
export function isSolution(token: string, solution: string, bits: number): boolean {
  return SOLUTION.test(solution) && zeroBitsOf(hashOf(token, solution)) >= bits;
}

/**
 * Solves a proof-of-work challenge, as scripts do it. Takes about 2^bits hashes, in this thread.
 *
 * @returns The pass: send it in the header `Sluice-Pass`, once.
 */
export function solveChallenge({ token, bits }: { token: string; bits: number }): string {
  for (let counter = 0; ; counter++) {
    const solution = counter.toString(BASE);
    if (zeroBitsOf(hashOf(token, solution)) >= bits) return `${token}.${solution}`;
  }
}

function hashOf(token: string, solution: string): Buffer {
  return createHash("sha256").update(`${token}.${solution}`, "utf8").digest();
}

function zeroBitsOf(hash: Buffer): number {
  let bits = 0;
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24;
    bits += 8;
  }
  return bits;
}
