// A million keys that all collide under the multiplicative hash of unseeded tables, over a million random keys of
// the same length. With a keyed hash there is no visible difference.

import { createLimiter } from "sluice";
import { type Bench, toFinding } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { RandomIds } from "../random.js";

const PAIRS = effort({ full: 20, quick: 16 });
const KEYS = 2 ** PAIRS;
const OPERATIONS = 500_000;

export const adversarial: Bench<Comparison> = {
  id: "memory/adversarial",
  unit: "ratio",
  parts: ["all"],
  runPart: () =>
    compare(
      toContender("keys that collide under h × 31 + c", toCollidingKey),
      toContender("random keys of the same length", toRandomKey),
      { operations: OPERATIONS },
    ),
  conclude: (parts) => parts.map(toFinding),
};

/** "Aa" and "BB" have the same such hash, and so have all mixes of as many of them. */
function toCollidingKey(id: number): string {
  return Array.from({ length: PAIRS }, (_, i) => ((id >> i) & 1 ? "Aa" : "BB")).join("");
}

function toRandomKey(id: number): string {
  const toPiece = (i: number) => (mix(id * PAIRS + i) & 0xff).toString(16).padStart(2, "0");
  return Array.from({ length: PAIRS }, (_, i) => toPiece(i)).join("");
}

function mix(n: number): number {
  const once = Math.imul(n ^ (n >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

// Keys are made before the rounds: making these costs more than checking them.
function toContender(name: string, toKey: (id: number) => string): Contender {
  const limiter = createLimiter({ limit: generousBucket });
  const keys = Array.from({ length: KEYS }, (_, id) => toKey(id));
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      if (limiter.check(keys[ids.next()] as string).allowed) admitted++;
    }
    return admitted;
  };
  return { name, run };
}
