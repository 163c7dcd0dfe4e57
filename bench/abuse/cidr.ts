// How long it takes to look an address up in a list of 100,000 ranges, over a list of ten. Both are asked for the same
// addresses, of which half are in the longer list, so that they differ in nothing but the list. Measured in processor
// time: by the clock, other load on the machine would blur a few nanoseconds.

import { AddressLists, readAddressList } from "sluice/rules";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { toTimeFinding } from "../rules/time.js";

const MANY = 100_000;
const FEW = 10;
const ASKED = 65_536;
const OPERATIONS = effort({ full: 1_000_000, quick: 200_000 });
const ROUNDS = 15;

/** Writes the range of a number, and an address in it. */
interface Family {
  readonly range: (id: number) => string;
  readonly address: (id: number) => string;
}

const hex = (id: number) => id.toString(16);
const families: Record<string, Family> = {
  // Spread over the whole family, half of it in no range.
  IPv4: {
    range: (id) => `${1 + (id % 200)}.${(id >>> 3) % 256}.${(id * 7) % 256}.${(id % 8) * 32}/28`,
    address: (id) =>
      `${1 + (id % 200)}.${(id >>> 3) % 256}.${(id * 7) % 256}.${(id % 8) * 32 + (id % 2) * 17}`,
  },
  IPv6: {
    range: (id) =>
      `2${hex(id % 4096).padStart(3, "0")}:${hex(id % 65_536)}:${hex((2 * id) % 65_536)}::/48`,
    address: (id) =>
      `2${hex(id % 4096).padStart(3, "0")}:${hex(id % 65_536)}:${hex((2 * id + (id % 2)) % 65_536)}::7`,
  },
};

export const cidr: Bench<Comparison> = {
  id: "abuse/cidr",
  unit: "ratio",
  bound: { is: "at most", bar: 3, goal: 1.5 },
  parts: Object.keys(families),
  runPart: (part) => {
    const family = families[part] as Family;
    return compare(toContender(part, family, MANY), toContender(part, family, FEW), {
      operations: OPERATIONS,
      rounds: ROUNDS,
      isByCpu: true,
    });
  },
  conclude: (parts) => parts.map(toTimeFinding),
};

function toContender(part: string, { range, address }: Family, entries: number): Contender {
  const step = Math.floor(MANY / entries);
  const lines = Array.from({ length: entries }, (_, i) => range(i * step));
  const lists = new AddressLists({
    deny: readAddressList([{ file: part, text: lines.join("\n") }]),
  });
  // In another order than that of the list, and none twice in a row.
  const asked = Array.from({ length: ASKED }, (_, i) => address((i * 40_503) % MANY));
  let at = 0;
  const run = (operations: number) => {
    let found = 0;
    for (let i = 0; i < operations; i++) {
      at = (at + 1) & (ASKED - 1);
      if (lists.find(asked[at]) === "deny") found++;
    }
    return found;
  };
  return { name: `${part}, ${entries} ranges`, run };
}
