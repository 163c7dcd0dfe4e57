// What goes wrong between regions in random schedules over real servers, and how many schedules a run tries.
// SLUICE_REGION_SEEDS, which `npm run soak` sets, tries more.

import { setTimeout as sleep } from "node:timers/promises";
import type { FaultProxy } from "sluice-test-servers";
import { SeededRandom } from "../../src/testing/conformance/random.js";

/** Breaks a way between two regions, or heals it. Resolves once the way stays as it is. */
type RegionFault = (way: FaultProxy, random: SeededRandom) => unknown;

const FAULTS: readonly RegionFault[] = [
  (way) => way.delay(40),
  (way) => way.delay(100),
  (way) => way.partition(),
  (way) => way.partition({ to: "server" }),
  (way) => way.partition({ to: "client" }),
  (way) => way.dropRequests(),
  (way) => way.dropReplies(),
  losePackets,
  (way) => way.cutEvery(3),
  (way) => way.cut("reset"),
  flap,
  (way) => way.trickle({ bytes: 64, everyMs: 1 }),
  (way) => way.heal(),
];

/** The most rounds until a schedule that breaks a way in each of them has had every fault. */
export const FAULT_ROUNDS = FAULTS.length;

/** The faults of one schedule, in random order: each comes once before any comes again. */
export class RegionFaults {
  readonly #random: SeededRandom;
  #left: readonly RegionFault[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** The next fault of one way, in place of the one before. */
  async breakWay(way: FaultProxy): Promise<void> {
    if (this.#left.length === 0) this.#left = FAULTS;
    const fault = this.#random.pick(this.#left);
    this.#left = this.#left.filter((each) => each !== fault);
    await fault(way, this.#random);
  }
}

/** How wrong the clock of a region is in a random schedule. */
export function randomSkewMs(random: SeededRandom): number {
  return random.pick([0, 60_000, -60_000]);
}

/** One packet in five is lost. */
function losePackets(way: FaultProxy, random: SeededRandom): void {
  // Numbers of its own: how many packets there are depends on the machine.
  const losses = new SeededRandom(`losses ${random.fraction()}`);
  way.losePackets({ chance: 0.2, delayMs: 10, random: () => losses.fraction() });
}

/** Gone and back, three times. */
async function flap(way: FaultProxy): Promise<void> {
  for (let i = 0; i < 3; i++) {
    way.refuse();
    way.cut();
    await sleep(10);
    await way.heal();
    await sleep(10);
  }
}

/** The seeds of a test of random schedules: from 1 to `usual`, or 50 in a soak of 1,000. */
export function regionSeeds(usual: number): readonly number[] {
  const soaked = Math.ceil(Number(process.env.SLUICE_REGION_SEEDS ?? 0) / 20);
  return Array.from({ length: Math.max(usual, soaked) }, (_, i) => i + 1);
}
