// Claims about requests that say who they are: sent twice, they count once.

import { concurrency, tokenBucket } from "../../limits/limits.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual, expectError } from "./expect.js";
import { allLimits, forEachKind, type LimitMaker } from "./samples.js";
import { Gate, limiterOn } from "./stand.js";

const GROUP = "a requestId makes a request count once";
const requestId = "request 1";
const about = ["concurrency"] as const;
const limit = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 1000 } });

/** All claims of this file. */
export const requestClaims: readonly Claim[] = [
  ...forEachKind(allLimits, GROUP, "sent again, it is answered again", sendTwice),
  { group: GROUP, title: "under another id it counts again", check: sendAnother },
  { group: GROUP, title: "with another cost it is an error", check: changeCost },
  { group: GROUP, title: "with another key it is an error", check: changeKey },
  { group: GROUP, title: "refused, it is decided again", check: refuseThenAdmit },
  { group: GROUP, title: "sent a hundred times together it counts once", check: sendTogether },
  { group: GROUP, title: "sent again, a reservation is refunded once", check: cancelBoth },
  { group: GROUP, title: "sent again, an acquire holds one permit", about, check: acquireTwice },
  { group: GROUP, title: "sent again, a permit is released once", about, check: releaseBoth },
];

async function sendTwice(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  for (let n = 1; n <= 3; n++) {
    const seen = await gate.take("key", 3, { requestId });
    expectDecision(`time ${n}`, seen, { allowed: true, remaining: 7 });
    stand.clock.advance(1);
  }
  expectDecision("without an id", await gate.take("key", 7), { allowed: true, remaining: 0 });
}

async function sendAnother(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  await gate.take("key", 3, { requestId });
  await gate.take("key", 3, { requestId: "request 2" });
  expectEqual("left after two", await gate.left("key"), [4]);
}

async function changeCost(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  await gate.take("key", 3, { requestId });
  const code = "SLUICE_REQUEST_ID_REUSED";
  await expectError("another cost", () => gate.take("key", 2, { requestId }), code);
  expectEqual("left after the error", await gate.left("key"), [7]);
}

async function changeKey(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  await gate.take("key", 3, { requestId });
  const code = "SLUICE_REQUEST_ID_REUSED";
  await expectError("another key", () => gate.take("other", 3, { requestId }), code);
  expectEqual("left after the error", await gate.left("key"), [7]);
  expectEqual("left for the other key", await gate.left("other"), [10]);
}

async function refuseThenAdmit(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  await gate.take("key", 10);
  const refused = await gate.take("key", 1, { requestId });
  expectDecision("with nothing left", refused, { allowed: false, remaining: 0 });
  stand.clock.advance(refused.retryAfterMs);
  const again = await gate.take("key", 1, { requestId });
  expectDecision("when it may be sent again", again, { allowed: true });
}

async function sendTogether(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  const send = () => gate.take("key", 3, { requestId });
  const seen = await Promise.all(Array.from({ length: 100 }, send));
  expectEqual("answered alike", seen.filter(({ remaining }) => remaining === 7).length, 100);
  expectEqual("left", await gate.left("key"), [7]);
}

async function cancelBoth(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limit);
  await gate.take("key", 5);
  const first = await gate.limiter.reserve("key", { cost: 2, requestId });
  const again = await gate.limiter.reserve("key", { cost: 2, requestId });
  await first.cancel();
  await again.cancel();
  expectEqual("left after 5 of 10 and two cancels of 2", await gate.left("key"), [5]);
}

async function acquireTwice(stand: Stand): Promise<void> {
  const limiter = limiterOn(stand, concurrency({ limit: 2, permitMs: 60_000 }));
  await limiter.acquire("key", { requestId });
  const again = await limiter.acquire("key", { requestId });
  expectDecision("held by one", await limiter.peek("key"), { allowed: true, remaining: 1 });
  await again.release();
  expectDecision("released by the second answer", await limiter.peek("key"), { remaining: 2 });
}

async function releaseBoth(stand: Stand): Promise<void> {
  const limiter = limiterOn(stand, concurrency({ limit: 3, permitMs: 60_000 }));
  await limiter.acquire("key");
  const first = await limiter.acquire("key", { requestId });
  const again = await limiter.acquire("key", { requestId });
  await first.release();
  await again.release();
  expectDecision("one more permit is held", await limiter.peek("key"), { remaining: 2 });
}
