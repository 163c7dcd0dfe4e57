// Claims about what comes back: settlements, grants, resets and permits, each once and never more
// than was charged.

import type { Reservation } from "../../limiter/reservation.js";
import { concurrency, leakyBucket } from "../../limits/limits.js";
import type { AlgorithmName, Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual, expectError } from "./expect.js";
import { allLimits, forEachKind, type LimitMaker, permitLimits, rateLimits } from "./samples.js";
import { Gate, limiterOn } from "./stand.js";

const SETTLED = "a reservation is settled once, for what it really cost";
const GRANTED = "a refund is capped at full";
const RESET = "a reset forgets what was used";
const PERMITS = "a permit is held until released or expired";

/** All claims of this file. */
export const refundClaims: readonly Claim[] = [
  ...forEachKind(rateLimits, SETTLED, "a cancel leaves what was there, once", cancelTwice),
  ...forEachKind(rateLimits, SETTLED, "a commit of less refunds the rest", commitLess),
  ...forEachKind(rateLimits, SETTLED, "a commit of more is debt", commitMore),
  ...forEachKind(rateLimits, SETTLED, "a second commit is an error", commitTwice),
  ...forEachKind(rateLimits, SETTLED, "a lease returns what was not spent", returnLease),
  ...forEachKind(rateLimits, GRANTED, "more than was used makes full, not more", refundMuch),
  ...forEachKind(rateLimits, GRANTED, "what it paid for, a cancel pays no more", refundThenCancel),
  ...forEachKind(allLimits, RESET, "all of it, of that key alone", resetOne),
  ...forEachKind(rateLimits, RESET, "a charge from before is not refunded", resetThenCancel),
  ...forEachKind(permitLimits, RESET, "a permit from before frees no place", resetThenRelease),
  permitClaim("it expires after permitMs, at that instant", expirePermit),
  permitClaim("a release frees its place once", releaseTwice),
  permitClaim("a release after expiry frees no other permit", releaseLate),
  permitClaim("a refused acquire has nothing to release", releaseRefused),
  permitClaim("its time starts after a shaper's delay", expireDelayed, ["leakyBucket"]),
];

function permitClaim(
  title: string,
  check: Claim["check"],
  besides: readonly AlgorithmName[] = [],
): Claim {
  return { group: PERMITS, title, about: ["concurrency", ...besides], check };
}

async function reserveFrom(gate: Gate, cost: number): Promise<Reservation<false>> {
  const reservation = await gate.limiter.reserve("key", { cost });
  expectDecision(`reserving ${cost}`, reservation, { allowed: true });
  return reservation;
}

async function cancelTwice(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 3);
  const reservation = await reserveFrom(gate, 4);
  expectEqual("left while reserved", await gate.left("key"), [3]);
  await reservation.cancel();
  expectEqual("left after cancel", await gate.left("key"), [7]);
  await reservation.cancel();
  expectEqual("left after a second cancel", await gate.left("key"), [7]);
}

async function commitLess(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const reservation = await reserveFrom(gate, 6);
  await reservation.commit(2);
  expectEqual("left after 2 of 6", await gate.left("key"), [8]);
}

async function commitMore(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const reservation = await reserveFrom(gate, 5);
  await reservation.commit(12);
  expectEqual("left after 12 of 5", await gate.left("key"), [0]);
  await gate.limiter.refund("key", 2);
  expectDecision("2 refunded", await gate.take("key"), { allowed: false, remaining: 0 });
  await gate.limiter.refund("key", 1);
  expectDecision("3 refunded", await gate.take("key"), { allowed: true, remaining: 0 });
}

async function commitTwice(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const reservation = await reserveFrom(gate, 5);
  await reservation.commit(4);
  await expectError("again", () => reservation.commit(0), "SLUICE_ALREADY_SETTLED");
  await reservation.cancel();
  expectEqual("left after all", await gate.left("key"), [6]);
}

async function returnLease(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const { receipts } = await stand.store.decide(gate.charges("key", 6), { hold: "lease" });
  expectEqual("receipts of a lease", receipts.length, 1);
  expectEqual("left while leased", await gate.left("key"), [4]);
  await stand.store.settle([{ receipt: receipts[0], kept: 2, nowMs: stand.clock.now() }]);
  expectEqual("left after 2 of 6", await gate.left("key"), [8]);
  await stand.store.settle([{ receipt: receipts[0], kept: 0, nowMs: stand.clock.now() }]);
  expectEqual("left after it is returned again", await gate.left("key"), [8]);
}

async function refundMuch(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.limiter.refund("key", 5);
  await gate.take("key", 3);
  await gate.limiter.refund("key", Number.MAX_SAFE_INTEGER);
  expectDecision("11", await gate.take("key", 11), { allowed: false, remaining: 10 });
  expectDecision("10", await gate.take("key", 10), { allowed: true, remaining: 0 });
}

async function refundThenCancel(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const reservation = await reserveFrom(gate, 10);
  await gate.limiter.refund("key", 10);
  await gate.take("key", 10);
  await reservation.cancel();
  expectEqual("left", await gate.left("key"), [0]);
}

async function resetOne(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 10);
  await gate.take("other", 4);
  await gate.limiter.reset("key");
  await gate.limiter.reset("never seen");
  expectDecision("10 again", await gate.take("key", 10), { allowed: true, remaining: 0 });
  expectEqual("left for the other key", await gate.left("other"), [6]);
}

async function resetThenCancel(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const reservation = await reserveFrom(gate, 6);
  await gate.limiter.reset("key");
  await gate.take("key", 10);
  await reservation.cancel();
  expectEqual("left", await gate.left("key"), [0]);
}

async function resetThenRelease(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const permit = await gate.limiter.acquire("key", { cost: 6 });
  await gate.limiter.reset("key");
  await gate.take("key", 10);
  await permit.release();
  expectEqual("places left", await gate.left("key"), [0]);
}

async function expirePermit(stand: Stand): Promise<void> {
  const gate = new Gate(stand, concurrency({ limit: 1, permitMs: 1000 }));
  await gate.take("key");
  stand.clock.advance(999);
  expectDecision("1 ms before", await gate.take("key"), { allowed: false, retryAfterMs: 1 });
  stand.clock.advance(1);
  expectDecision("after 1,000 ms", await gate.take("key"), { allowed: true, remaining: 0 });
}

async function releaseTwice(stand: Stand): Promise<void> {
  const limiter = limiterOn(stand, concurrency({ limit: 3, permitMs: 1000 }));
  const [first] = [
    await limiter.acquire("key"),
    await limiter.acquire("key"),
    await limiter.acquire("key"),
  ];
  await first.release();
  await first.release();
  expectDecision("after two releases", await limiter.peek("key"), { remaining: 1 });
}

async function releaseLate(stand: Stand): Promise<void> {
  const limiter = limiterOn(stand, concurrency({ limit: 1, permitMs: 1000 }));
  const first = await limiter.acquire("key");
  stand.clock.advance(1000);
  expectDecision("after expiry", await limiter.acquire("key"), { allowed: true });
  await first.release();
  expectDecision("after a late release", await limiter.acquire("key"), { allowed: false });
}

async function releaseRefused(stand: Stand): Promise<void> {
  const limiter = limiterOn(stand, concurrency({ limit: 1, permitMs: 1000 }));
  await limiter.acquire("key");
  const refused = await limiter.acquire("key");
  await refused.release();
  expectDecision("after its release", await limiter.peek("key"), { allowed: false, remaining: 0 });
}

async function expireDelayed(stand: Stand): Promise<void> {
  const shaper = leakyBucket({ ratePerSecond: 1, queueSize: 5 });
  const gate = new Gate(stand, [concurrency({ limit: 10, permitMs: 3000 }), shaper]);
  expectDecision("the first", await gate.take("key"), { allowed: true, delayMs: 0 });
  expectDecision("the second", await gate.take("key"), { allowed: true, delayMs: 1000 });
  for (const [pauseMs, permits] of [
    [2999, 8],
    [1, 9],
    [999, 9],
    [1, 10],
  ]) {
    stand.clock.advance(pauseMs);
    expectEqual(`permits at ${stand.clock.now()}`, (await gate.left("key"))[0], permits);
  }
}
