// Claims about who shares a counter: keys and limiters that differ in anything share nothing, and
// a limiter whose numbers change takes over what was used.

import {
  fixedWindow,
  type Limit,
  quota,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual } from "./expect.js";
import { hostileKeys, illFormedKeys } from "./hostile-keys.js";
import { allLimits, forEachKind, type LimitMaker, rateLimits } from "./samples.js";
import { Gate } from "./stand.js";

const KEYS = "keys that differ in anything are counted apart";
const NAMES = "limiters share a counter by name alone";
const CHANGES = "changed numbers carry over the units used";

const SLOWER_ABOUT = ["tokenBucket", "fixedWindow", "slidingWindowLog"] as const;

/** All claims of this file. */
export const nameClaims: readonly Claim[] = [
  { group: KEYS, title: "hostile keys", check: (stand) => countApart(stand, hostileKeys) },
  {
    group: KEYS,
    title: "keys that are not valid Unicode",
    check: (s) => countApart(s, illFormedKeys),
  },
  { group: KEYS, title: "blocks of hostile keys", check: blockApart },
  { group: NAMES, title: "other names share nothing", check: nameApart },
  { group: NAMES, title: "the same name shares all", check: nameAlike },
  {
    group: NAMES,
    title: "several limits of one limiter are counted apart",
    about: ["fixedWindow"],
    check: partApart,
  },
  {
    group: NAMES,
    title: "several quotas of one limiter are counted apart",
    about: ["quota"],
    check: periodsApart,
  },
  {
    group: NAMES,
    title: "another algorithm starts empty",
    about: ["fixedWindow", "slidingWindowLog"],
    check: changeAlgorithm,
  },
  ...forEachKind(allLimits, CHANGES, "to a larger limit", grow),
  ...forEachKind(allLimits, CHANGES, "to a smaller limit, clipped to it", shrink),
  ...forEachKind(rateLimits, CHANGES, "clipped, not kept as debt", clip),
  ...forEachKind(allLimits, CHANGES, "there and back again", growAndShrink),
  {
    group: CHANGES,
    title: "to a limit that recovers more slowly",
    about: SLOWER_ABOUT,
    check: slowDown,
  },
  {
    group: CHANGES,
    title: "to a limiter with the old numbers, still in use",
    about: SLOWER_ABOUT,
    check: outlive,
  },
];

async function countApart(stand: Stand, keys: readonly string[]): Promise<void> {
  const gate = new Gate(stand, fixedWindow({ limit: 1000, windowMs: 3_600_000 }));
  for (const [i, key] of keys.entries()) await gate.take(key, i + 1);
  for (const [i, key] of keys.entries()) {
    expectEqual(`left for ${shown(key)}`, await gate.left(key), [999 - i]);
  }
}

async function blockApart(stand: Stand): Promise<void> {
  const { limiter } = new Gate(stand, fixedWindow({ limit: 10, windowMs: 3_600_000 }));
  for (const [i, key] of hostileKeys.entries()) await limiter.block(key, i + 1);
  for (const [i, key] of hostileKeys.entries()) {
    const blocked = { allowed: false, retryAfterMs: i + 1 };
    expectDecision(`block of ${shown(key)}`, await limiter.peek(key), blocked);
  }
  await limiter.unblock(hostileKeys[0]);
  expectDecision("the next", await limiter.peek(hostileKeys[1]), { allowed: false });
}

function shown(key: string): string {
  return JSON.stringify(key.length > 80 ? `${key.slice(0, 40)}…${key.slice(-40)}` : key);
}

async function nameApart(stand: Stand): Promise<void> {
  const limit = fixedWindow({ limit: 100, windowMs: 3_600_000 });
  const pairs = ["a/b:c", "a:b/c", "a:/b:c", "a/:b:c", "A/b:c", "{a}/b", "a/{b}", "__proto__/x"]
    .map((pair) => pair.split("/"))
    .map(([name, key]) => ({ name, key, gate: new Gate(stand, limit, name) }));
  for (const [i, { gate, key }] of pairs.entries()) await gate.take(key, i + 1);
  for (const [i, { gate, name, key }] of pairs.entries()) {
    expectEqual(`left of "${name}" for "${key}"`, await gate.left(key), [99 - i]);
  }
}

async function nameAlike(stand: Stand): Promise<void> {
  const one = new Gate(stand, rateLimits["token bucket"](10), "shared");
  const two = new Gate(stand, rateLimits["token bucket"](10), "shared");
  await one.take("key", 6);
  expectDecision("5 of the 4 left", await two.take("key", 5), { allowed: false, remaining: 4 });
  await two.limiter.reset("key");
  expectEqual("left after a reset by the other", await one.left("key"), [10]);
}

async function partApart(stand: Stand): Promise<void> {
  const limits = [
    fixedWindow({ limit: 10, windowMs: 1000 }),
    fixedWindow({ limit: 100, windowMs: 60_000 }),
  ];
  const gate = new Gate(stand, limits);
  await gate.take("key", 7);
  expectEqual("left", await gate.left("key"), [3, 93]);
  stand.clock.advance(1000);
  expectEqual("left a second later", await gate.left("key"), [10, 93]);
}

async function periodsApart(stand: Stand): Promise<void> {
  const limits = [quota({ limit: 10, period: "day" }), quota({ limit: 100, period: "month" })];
  const gate = new Gate(stand, limits);
  await gate.take("key", 7);
  expectEqual("left", await gate.left("key"), [3, 93]);
  stand.clock.advance(24 * 3_600_000);
  expectEqual("left a day later", await gate.left("key"), [10, 93]);
}

async function changeAlgorithm(stand: Stand): Promise<void> {
  await new Gate(stand, fixedWindow(hourly(10))).take("key", 6);
  expectEqual("left", await new Gate(stand, slidingWindowLog(hourly(10))).left("key"), [10]);
}

function hourly(limit: number): { limit: number; windowMs: number } {
  return { limit, windowMs: 3_600_000 };
}

async function grow(stand: Stand, make: LimitMaker): Promise<void> {
  await new Gate(stand, make(10)).take("key", 6);
  const after = new Gate(stand, make(20));
  expectDecision("15 of the 14 left", await after.take("key", 15), {
    allowed: false,
    limit: 20,
    remaining: 14,
  });
  expectDecision("14", await after.take("key", 14), { allowed: true, remaining: 0 });
}

async function shrink(stand: Stand, make: LimitMaker): Promise<void> {
  await new Gate(stand, make(10)).take("key", 6);
  await new Gate(stand, make(10)).take("other", 3);
  const after = new Gate(stand, make(4));
  const full = { allowed: false, limit: 4, remaining: 0 };
  expectDecision("1 with 6 of 4 used", await after.take("key"), full);
  expectDecision("1 with 3 of 4 used", await after.take("other"), { allowed: true, remaining: 0 });
}

async function clip(stand: Stand, make: LimitMaker): Promise<void> {
  await new Gate(stand, make(10)).take("key", 6);
  const after = new Gate(stand, make(4));
  await after.limiter.refund("key", 1);
  expectEqual("left after 1 is refunded", await after.left("key"), [1]);
}

async function growAndShrink(stand: Stand, make: LimitMaker): Promise<void> {
  await new Gate(stand, make(10)).take("key", 3);
  await new Gate(stand, make(20)).take("key", 4);
  expectEqual("left", await new Gate(stand, make(10)).left("key"), [3]);
}

const slower: readonly (readonly [from: Limit, to: Limit])[] = [
  [bucketOf(1000), bucketOf(86_400_000)],
  [fixedWindow({ limit: 10, windowMs: 1000 }), fixedWindow({ limit: 10, windowMs: 86_400_000 })],
  [slidingWindowLog({ limit: 10, windowMs: 1000 }), slidingWindowLog(hourly(10))],
];

async function slowDown(stand: Stand): Promise<void> {
  for (const [from, to] of slower) {
    await new Gate(stand, from).take("key", 6);
    const left = await new Gate(stand, to).left("key");
    expectEqual(`left of a ${to.algorithm}`, left, [4]);
  }
}

/** While rules are replaced, requests that are under way still use the limiter they began with. */
async function outlive(stand: Stand): Promise<void> {
  for (const [from, to] of slower) {
    const old = new Gate(stand, from);
    await old.take("key", 6);
    await new Gate(stand, to).take("key", 1);
    const seen = await old.limiter.peek("key", { cost: 4 });
    const full = { allowed: false, remaining: 3 };
    expectDecision(`4 of a ${from.algorithm} with 7 of 10 used`, seen, full);
  }
}

function bucketOf(everyMs: number): Limit {
  return tokenBucket({ capacity: 10, refill: { amount: 1, everyMs } });
}
