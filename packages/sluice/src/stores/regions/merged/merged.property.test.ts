import fc from "fast-check";
import { expect, it } from "vitest";
import { type Fate, RegionsRig } from "../../../../test/regions-rig.js";
import { fixedWindow, type Limit, tokenBucket } from "../../../limits/limits.js";

const HOUR_MS = 3_600_000;
/** So slow that nothing comes back while a test runs. */
const LIMITS: readonly Limit[] = [
  fixedWindow({ limit: 40, windowMs: HOUR_MS }),
  tokenBucket({ capacity: 40, refill: { amount: 1, everyMs: 24 * HOUR_MS } }),
];

const fate = fc.constantFrom<Fate>("arrives", "arrives", "lost", "unanswered", "late");
const step = fc.oneof(
  fc.record({ kind: fc.constant("ask" as const), region: fc.nat(2), times: fc.nat(6) }),
  fc.record({ kind: fc.constant("sync" as const), fates: fc.array(fate, { minLength: 1 }) }),
  fc.record({ kind: fc.constant("deliver" as const) }),
);

it("counts every unit once in every region at the end, whatever was lost, late or twice", () => {
  fc.assert(
    fc.property(fc.constantFrom(...LIMITS), fc.array(step, { maxLength: 40 }), (limit, steps) => {
      const rig = new RegionsRig();
      const counter = { scope: "test", part: 0, limit };
      const admitted = [0, 0, 0];
      for (const each of steps) {
        if (each.kind === "ask")
          admitted[each.region] += rig.ask(each.region, counter, "a", each.times);
        if (each.kind === "deliver") for (const way of rig.ways.flat()) way.deliver();
        if (each.kind !== "sync") continue;
        let calls = 0;
        for (const way of rig.ways.flat()) way.fate = () => each.fates[calls++ % each.fates.length];
        rig.sync();
      }
      rig.heal();
      // Idle, so that nothing is announced ahead any more.
      rig.sync(30);
      // What came late is seen when the key is next asked for.
      for (const region of [0, 1, 2]) admitted[region] += rig.ask(region, counter, "a");
      rig.sync(30);
      const total = admitted.reduce((sum, units) => sum + units, 0);
      expect(rig.used(counter, "a").map(Math.round)).toEqual([total, total, total]);
      // Each region stops at the limit as it knows it, so all of them at most that many times.
      expect(total).toBeLessThanOrEqual(3 * limit.capacity);
    }),
    { numRuns: 100 },
  );
});
