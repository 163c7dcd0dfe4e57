// Claims about blocks: they refuse one key under every limit of its limiter, and end on time.

import { fixedWindow, tokenBucket } from "../../limits/limits.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual } from "./expect.js";
import { allLimits, forEachKind, type LimitMaker } from "./samples.js";
import { Gate } from "./stand.js";

const GROUP = "a block refuses its key until it ends";
const limits = [
  tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 60_000 } }),
  fixedWindow({ limit: 20, windowMs: 60_000 }),
];

/** All claims of this file. */
export const blockClaims: readonly Claim[] = [
  ...forEachKind(allLimits, GROUP, "it ends exactly, and cost nothing", endExactly),
  { group: GROUP, title: "under each of several limits", check: blockSeveral },
  { group: GROUP, title: "peek shows it", check: peekBlocked },
  { group: GROUP, title: "unblock ends it immediately", check: unblock },
  { group: GROUP, title: "without an end it lasts until unblock", check: blockForever },
  { group: GROUP, title: "a reset does not end it", check: resetBlocked },
  { group: GROUP, title: "other keys and other limiters pass", check: passOthers },
];

async function endExactly(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 3);
  await gate.limiter.block("key", 900);
  for (const [pauseMs, retryAfterMs] of [
    [0, 900],
    [1, 899],
    [898, 1],
  ]) {
    stand.clock.advance(pauseMs);
    const seen = await gate.take("key");
    const refused = { allowed: false, remaining: 0, retryAfterMs, delayMs: 0 };
    // Says that a block refuses, and how long it lasts, not only when to retry.
    const blocked = { ...refused, blockedMs: retryAfterMs };
    expectDecision(`${retryAfterMs} ms before the end`, seen, blocked);
  }
  stand.clock.advance(1);
  expectDecision("at the end", await gate.take("key", 7), { allowed: true, remaining: 0 });
}

async function blockSeveral(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limits);
  await gate.limiter.block("key", 1000);
  const verdicts = await stand.store.peek(gate.charges("key", 1));
  expectEqual(
    "allowed by each",
    verdicts.map(({ allowed }) => allowed),
    [false, false],
  );
  expectDecision("blocked", await gate.take("key"), { allowed: false, retryAfterMs: 1000 });
  stand.clock.advance(1000);
  expectEqual("left under each at the end", await gate.left("key"), [10, 20]);
}

async function peekBlocked(stand: Stand): Promise<void> {
  const { limiter } = new Gate(stand, limits);
  await limiter.block("key", 1000);
  stand.clock.advance(1);
  const blocked = { allowed: false, remaining: 0, retryAfterMs: 999, blockedMs: 999 };
  expectDecision("peek of 1", await limiter.peek("key"), blocked);
  expectDecision("peek of 0", await limiter.peek("key", { cost: 0 }), blocked);
}

async function unblock(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limits);
  await gate.limiter.block("key", 1000);
  expectEqual("was blocked", await gate.limiter.unblock("key"), true);
  expectEqual("was blocked still", await gate.limiter.unblock("key"), false);
  expectEqual("never blocked", await gate.limiter.unblock("never blocked"), false);
  expectDecision("after unblock", await gate.take("key"), { allowed: true, remaining: 9 });
}

async function blockForever(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limits);
  const retryAfterMs = Number.POSITIVE_INFINITY;
  await gate.limiter.block("key", retryAfterMs);
  stand.clock.set(Date.UTC(2099, 0, 1));
  const seen = await gate.take("key");
  expectDecision("in 2099", seen, { allowed: false, retryAfterMs, blockedMs: retryAfterMs });
  await gate.limiter.unblock("key");
  expectDecision("after unblock", await gate.take("key"), { allowed: true, remaining: 9 });
}

async function resetBlocked(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limits);
  await gate.take("key", 5);
  await gate.limiter.block("key", 1000);
  await gate.limiter.reset("key");
  expectDecision("after reset", await gate.take("key"), { allowed: false, retryAfterMs: 1000 });
  stand.clock.advance(1000);
  expectEqual("left at the end", await gate.left("key"), [10, 20]);
}

async function passOthers(stand: Stand): Promise<void> {
  const gate = new Gate(stand, limits);
  const other = new Gate(stand, limits, "other");
  const same = new Gate(stand, limits);
  await gate.limiter.block("key", 1000);
  expectDecision("another key", await gate.take("Key"), { allowed: true });
  expectDecision("another name", await other.take("key"), { allowed: true });
  expectDecision("the same name", await same.take("key"), { allowed: false });
}
