import fc from "fast-check";
import { expect, it } from "vitest";
import { type Fate, RegionsRig } from "../../../../test/regions-rig.js";
import { fixedWindow, type Limit, tokenBucket } from "../../../limits/limits.js";
import type { ChargeReceipt, Outcome } from "../../store.js";

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

const MINUTE_MS = 60_000;
const region = fc.nat(2);
/** What happens in regions whose windows end, also while they are cut off from each other. */
const happening = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("ask" as const), region, times: fc.nat(6) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("sync" as const),
      fates: fc.array(fc.constantFrom<Fate>("arrives", "arrives", "lost", "unanswered"), {
        minLength: 1,
      }),
    }),
  },
  fc.record({ kind: fc.constant("window" as const) }),
  fc.record({
    kind: fc.constant("reserve" as const),
    region,
    cost: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant("settle" as const), which: fc.nat(3), kept: fc.nat(6) }),
);

/** Units that regions admitted, by the number of the window by the clock of each. */
class Admitted {
  readonly #byWindow = new Map<number, number>();

  add(window: number, units: number): void {
    this.#byWindow.set(window, this.unitsIn(window) + units);
  }

  unitsIn(window: number): number {
    return this.#byWindow.get(window) ?? 0;
  }
}

interface Reservation {
  readonly region: number;
  readonly window: number;
  readonly cost: number;
  readonly receipt: ChargeReceipt;
}

it("counts every unit once in its window, whatever windows end while regions are cut off, by clocks a minute apart", () => {
  const clocks = fc.constantFrom([0, 0, 0], [0, MINUTE_MS, -MINUTE_MS], [0, 7_000, -3_000]);
  fc.assert(
    fc.property(clocks, fc.array(happening, { maxLength: 50 }), (skewsMs, happenings) => {
      const rig = new RegionsRig({ skewsMs });
      const limit = fixedWindow({ limit: 40, windowMs: MINUTE_MS });
      const counter = { scope: "test", part: 0, limit };
      const windowOf = (of: number) => Math.floor((rig.clock.now() + skewsMs[of]) / MINUTE_MS);
      const admitted = new Admitted();
      const reservations: Reservation[] = [];
      const ask = (of: number, times: number) =>
        admitted.add(windowOf(of), rig.ask(of, counter, "a", times));
      for (const each of happenings) {
        if (each.kind === "ask") ask(each.region, each.times);
        if (each.kind === "window") {
          for (const way of rig.ways.flat()) way.fate = () => "lost";
          rig.clock.advance(MINUTE_MS - (rig.clock.now() % MINUTE_MS) + 1);
        }
        if (each.kind === "reserve") {
          const charge = { counter, key: "a", cost: each.cost, nowMs: rig.clock.now() };
          const outcome = rig.processes[each.region].decide([charge], { hold: true }) as Outcome;
          if (!outcome.allowed) continue;
          const window = windowOf(each.region);
          admitted.add(window, each.cost);
          reservations.push({ ...each, window, receipt: outcome.receipts[0] });
        }
        if (each.kind === "settle" && reservations.length > 0) {
          const [held] = reservations.splice(each.which % reservations.length, 1);
          const settling = { receipt: held.receipt, kept: each.kept, nowMs: rig.clock.now() };
          rig.processes[held.region].settle([settling]);
          // What was used beyond the reservation is a charge of now.
          const window = each.kept > held.cost ? windowOf(held.region) : held.window;
          admitted.add(window, each.kept - held.cost);
        }
        if (each.kind !== "sync") continue;
        let calls = 0;
        for (const way of rig.ways.flat()) way.fate = () => each.fates[calls++ % each.fates.length];
        rig.sync();
      }
      rig.heal();
      rig.sync(30);
      for (const of of [0, 1, 2]) ask(of, 1);
      rig.sync(30);
      const expected = skewsMs.map((_, of) => admitted.unitsIn(windowOf(of)));
      expect(rig.used(counter, "a").map(Math.round)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
