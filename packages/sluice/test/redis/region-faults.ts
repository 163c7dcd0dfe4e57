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

/** A random fault of one way, in place of the one before. */
export async function breakWay(way: FaultProxy, random: SeededRandom): Promise<void> {
  await random.pick(FAULTS)(way, random);
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
