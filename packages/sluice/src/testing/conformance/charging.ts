// Claims about what a request costs: a refusal nothing, several limits all or nothing, a shadow
// only itself, and callers at the same time no more than one after another.

import { fixedWindow, type Limit, slidingWindowLog, tokenBucket } from "../../limits/limits.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual } from "./expect.js";
import { allLimits, forEachKind, type LimitMaker, permitLimits, rateLimits } from "./samples.js";
import { Gate } from "./stand.js";

const REFUSALS = "a refusal costs nothing";
const SEVERAL = "several limits are charged all or none";
const SHADOWS = "a shadow charge is counted if it passes and never refuses";
const CALLERS = "callers at the same time are admitted as if one after another";
const CALLERS_COUNT = 100;
const about = ["concurrency"] as const;

/** All claims of this file. */
export const chargingClaims: readonly Claim[] = [
  ...forEachKind(allLimits, REFUSALS, "a hundred refusals leave what was left", refuseOften),
  ...forEachKind(allLimits, REFUSALS, "a cost above the limit never passes", refuseForever),
  { group: SEVERAL, title: "a refusal by one takes nothing from the others", check: refuseByOne },
  { group: SEVERAL, title: "an admission takes its cost from each", check: admitByAll },
  { group: SEVERAL, title: "a full rate limit lets no permit go", about, check: refuseByRate },
  {
    group: SEVERAL,
    title: "a missing permit charges no rate limit",
    about,
    check: refuseByPermits,
  },
  { group: SHADOWS, title: "a shadow that is full lets the others pass", check: passFullShadow },
  { group: SHADOWS, title: "a refusal by another leaves it uncharged", check: leaveShadow },
  ...forEachKind(allLimits, CALLERS, "a hundred callers of ten units", callTogether),
  { group: CALLERS, title: "a hundred callers of several limits", check: callSeveralTogether },
];

async function refuseOften(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  expectDecision("7 of 10", await gate.take("key", 7), { allowed: true, remaining: 3 });
  for (let n = 0; n < 100; n++) {
    const seen = await gate.take("key", 4);
    expectDecision(`refusal ${n}, 4 of the 3 left`, seen, { allowed: false, remaining: 3 });
  }
  expectDecision("the 3 left", await gate.take("key", 3), { allowed: true, remaining: 0 });
}

async function refuseForever(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const never = { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY };
  for (const cost of [11, Number.MAX_SAFE_INTEGER]) {
    const seen = await gate.take("key", cost);
    expectDecision(`${cost} of 10`, seen, { ...never, remaining: 10, resetMs: 0 });
  }
  expectDecision("all 10", await gate.take("key", 10), { allowed: true, remaining: 0 });
  expectDecision("11 of none", await gate.take("key", 11), { ...never, remaining: 0 });
}

const loose: readonly Limit[] = [
  tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 60_000 } }),
  slidingWindowLog({ limit: 10, windowMs: 60_000 }),
];
const tight = fixedWindow({ limit: 2, windowMs: 60_000 });

async function refuseByOne(stand: Stand): Promise<void> {
  for (let at = 0; at <= loose.length; at++) {
    const gate = new Gate(stand, loose.toSpliced(at, 0, tight), `tight at ${at}`);
    await gate.take("key", 2);
    const left = [8, 8].toSpliced(at, 0, 0);
    for (let n = 0; n < 20; n++) {
      const seen = await gate.take("key");
      expectDecision(`1, limit ${at} full`, seen, { allowed: false, limit: 2, remaining: 0 });
    }
    expectEqual(`left by refusals, limit ${at} full`, await gate.left("key"), left);
  }
}

async function admitByAll(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [...loose, tight]);
  const seen = await gate.take("key", 1);
  // The answer is that of the limit with the smallest share left.
  expectDecision("1 under 3 limits", seen, { allowed: true, limit: 2, remaining: 1 });
  expectEqual("left under each", await gate.left("key"), [9, 9, 1]);
}

async function refuseByRate(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [permitLimits["concurrency limit"](10), tight]);
  await gate.take("key", 2);
  for (let n = 0; n < 20; n++) {
    expectDecision("a third", await gate.take("key"), { allowed: false, limit: 2 });
  }
  expectEqual("permits and units left", await gate.left("key"), [8, 0]);
}

async function refuseByPermits(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [...loose, permitLimits["concurrency limit"](2)]);
  await gate.take("key", 2);
  for (let n = 0; n < 20; n++) {
    expectDecision("a third", await gate.take("key"), { allowed: false, limit: 2 });
  }
  expectEqual("units and permits left", await gate.left("key"), [8, 8, 0]);
}

async function passFullShadow(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [...loose, tight]);
  for (let n = 1; n <= 4; n++) {
    const [first, second, third] = gate.charges("key", 1);
    await stand.store.decide([first, second, { ...third, shadow: true }]);
    const left = [10 - n, 10 - n, Math.max(0, 2 - n)];
    expectEqual(`left after ${n} with a shadow of 2`, await gate.left("key"), left);
  }
}

async function leaveShadow(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [tight, ...loose]);
  for (let n = 1; n <= 4; n++) {
    const [first, second, third] = gate.charges("key", 1);
    await stand.store.decide([first, { ...second, shadow: true }, third]);
  }
  expectEqual("left after 2 admissions and 2 refusals", await gate.left("key"), [0, 8, 8]);
}

async function callTogether(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const seen = await Promise.all(Array.from({ length: CALLERS_COUNT }, () => gate.take("key")));
  expectEqual("admitted of 100", seen.filter(({ allowed }) => allowed).length, 10);
  expectEqual("left", await gate.left("key"), [0]);
}

async function callSeveralTogether(stand: Stand): Promise<void> {
  const gate = new Gate(stand, [...loose, rateLimits["fixed window"](7)]);
  const seen = await Promise.all(Array.from({ length: CALLERS_COUNT }, () => gate.take("key")));
  expectEqual("admitted of 100", seen.filter(({ allowed }) => allowed).length, 7);
  expectEqual("left under each", await gate.left("key"), [3, 3, 0]);
}
