// Random schedules of partitions, lost and late calls, restarts and promotions, by operators and by an arbiter: never two
// homes, and never more admitted than is promised. SLUICE_REGION_SEEDS runs more of them.

import { describe, expect, it } from "vitest";
import { type HomeRig, HomeRig as Rig, settled, TestArbiter } from "../../../../test/home-rig.js";
import type { Fate } from "../../../../test/regions-rig.js";
import { fixedWindow, slidingWindowLog } from "../../../limits/limits.js";
import { SeededRandom } from "../../../testing/conformance/random.js";
import type { Charge, Counter, Outcome } from "../../store.js";

const SEEDS = Number(process.env.SLUICE_REGION_SEEDS ?? 25);
const STEPS = 160;
const STEP_MS = 500;
const LEASE_MS = 1_000;
const HOUR_MS = 3_600_000;
const SPAN_MS = 5_000;
const UNITS = 10;

const NAMES = ["eu", "us"] as const;

/** Waits after a promotion, and so is never exceeded. */
const short: Counter = {
  scope: "short",
  part: 0,
  limit: slidingWindowLog({ limit: UNITS, windowMs: SPAN_MS }),
  onStoreFailure: "closed",
};
/** Starts full after a promotion. */
const long: Counter = {
  scope: "long",
  part: 0,
  limit: fixedWindow({ limit: UNITS, windowMs: 24 * HOUR_MS }),
  onStoreFailure: "closed",
};

const FATES: readonly (() => Fate)[] = [
  () => "arrives",
  () => "arrives",
  () => "lost",
  () => "unanswered",
  () => "late",
];

/** What was seen: when each region last decided, and when units of the short limit were admitted. */
class Watch {
  readonly #lastAtMs = new Map<string, number>();
  readonly #shortAtMs: number[] = [];
  longAdmitted = 0;
  promotions = 0;
  decisions = 0;

  look(rig: HomeRig, at: string): void {
    const nowMs = rig.clock.now();
    const deciding = rig.deciding();
    expect(deciding.length, `${at}: both decide`).toBeLessThanOrEqual(1);
    const [home] = deciding;
    if (home === undefined) return;
    const other = this.#lastAtMs.get(home === "eu" ? "us" : "eu") ?? Number.NEGATIVE_INFINITY;
    if (!this.#lastAtMs.has(home) || (this.#lastAtMs.get(home) as number) < other) {
      expect(nowMs - other, `${at}: leases are over`).toBeGreaterThan(LEASE_MS);
    }
    this.#lastAtMs.set(home, nowMs);
  }

  admitted(counter: Counter, nowMs: number, at: string): void {
    this.decisions++;
    if (counter === long) {
      this.longAdmitted++;
      const bound = UNITS * (1 + this.promotions);
      expect(this.longAdmitted, `${at}: one limit more a promotion`).toBeLessThanOrEqual(bound);
      return;
    }
    this.#shortAtMs.push(nowMs);
    const inSpan = this.#shortAtMs.filter((ms) => ms > nowMs - SPAN_MS).length;
    expect(inSpan, `${at}: no more in any span`).toBeLessThanOrEqual(UNITS);
  }
}

async function ask(rig: HomeRig, process: number, watch: Watch, at: string): Promise<void> {
  for (const counter of [short, long]) {
    const charge: Charge = { counter, key: "key", cost: 1, nowMs: rig.clock.now() };
    const outcome: Outcome = await rig.homes[process].store.decide([charge]);
    if (outcome.allowed) watch.admitted(counter, rig.clock.now(), at);
  }
}

/** A store loses its record, unless the other one has none: if both do, no store says any more who was home. */
function loseData({ servers, clock }: HomeRig, name: (typeof NAMES)[number]): void {
  const other = name === "eu" ? servers.us : servers.eu;
  if (other.read(clock.now()).text !== "") servers[name].forgetRecord(clock.now());
}

async function run(seed: number, takeover: "manual" | "automatic"): Promise<Watch> {
  const random = new SeededRandom(`fenced ${takeover} ${seed}`);
  const arbiter = takeover === "automatic" ? new TestArbiter() : undefined;
  const skew = () => random.between(-60_000, 60_000);
  const rig = new Rig({
    processes: ["eu", "us", "ap"],
    skewsMs: [skew(), skew()],
    ...(arbiter === undefined ? {} : { arbiter }),
  });
  const watch = new Watch();
  let epoch = 1;
  await settled();
  for (let step = 0; step < STEPS; step++) {
    const at = `seed ${seed}, step ${step}`;
    if (random.chance(0.12)) {
      const way = random.pick(rig.ways);
      way[random.pick(NAMES)].fate = random.pick(FATES);
    }
    // A region that no process reaches.
    if (random.chance(0.02)) rig.cut(random.pick(NAMES));
    if (random.chance(0.05)) rig.heal();
    if (random.chance(0.1)) for (const { eu, us } of rig.ways) random.pick([eu, us]).deliver();
    if (random.chance(0.03)) rig.restart(random.between(0, 2));
    if (arbiter !== undefined && random.chance(0.1)) {
      const reached = random.between(0, 7);
      arbiter.isReached = (process) => ((reached >> process) & 1) === 1;
    }
    if (random.chance(0.01)) loseData(rig, random.pick(NAMES));
    if (random.chance(0.04)) {
      // By one operator, or by two at the same time.
      const operators = Array.from({ length: random.between(1, 2) }, () => random.between(0, 2));
      await Promise.all(operators.map((i) => rig.homes[i].promote(random.pick(NAMES))));
    }
    watch.look(rig, at);
    for (const process of rig.homes.keys()) await ask(rig, process, watch, at);
    watch.look(rig, at);
    const known = Math.max(epoch, ...rig.homes.map(({ stats }) => stats?.epoch ?? 0));
    watch.promotions += known - epoch;
    epoch = known;
    rig.clock.advance(random.between(1, STEP_MS));
    await settled();
    watch.look(rig, at);
  }
  rig.close();
  return watch;
}

describe("over random schedules of faults and promotions", () => {
  it.each(["manual", "automatic"] as const)(
    "there is never more than one home, %s",
    async (takeover) => {
      let [promotions, decisions] = [0, 0];
      for (let seed = 1; seed <= SEEDS; seed++) {
        const watch = await run(seed, takeover);
        promotions += watch.promotions;
        decisions += watch.decisions;
      }
      // The schedules are worth something.
      expect(promotions).toBeGreaterThan(SEEDS / 2);
      expect(decisions).toBeGreaterThan(SEEDS * UNITS);
    },
  );
});
