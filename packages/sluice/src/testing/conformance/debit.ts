// Claims about what decorators build on: a debit that charges without asking and reports what is in
// use, and charges that are held only for a moment. Both are between stores; no caller sees them.

import type { Verdict } from "../../base/decision.js";
import { type Limit, tokenBucket } from "../../limits/limits.js";
import type { ChargeReceipt, CounterStatus } from "../../stores/store.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual } from "./expect.js";
import { allLimits, forEachKind, heldBy, type LimitMaker, rateLimits } from "./samples.js";
import { Gate } from "./stand.js";

const DEBITED = "a debit charges without asking and reports what is in use";
const HELD = "a charge that is held briefly is settled for what it really cost";
/** What is in use may be a quotient: its last digits are not promised. */
const USED_ERROR_MAX = 1e-6;
const about = ["tokenBucket"] as const;

/** All claims of this file. */
export const debitClaims: readonly Claim[] = [
  ...forEachKind(allLimits, DEBITED, "from idle it uses its cost", debitIdle),
  ...forEachKind(allLimits, DEBITED, "it adds to what was taken, as peek shows", debitMore),
  ...forEachKind(allLimits, DEBITED, "beyond the limit it is debt", debitBeyond),
  ...forEachKind(rateLimits, DEBITED, "debt is refunded before there is room", refundDebt),
  ...forEachKind(allLimits, DEBITED, "a cost of nothing only reports", debitNothing),
  { group: DEBITED, title: "use is not rounded to whole units", about, check: reportParts },
  { group: DEBITED, title: "refill pays debt at its rate, exactly", about, check: payDebt },
  { group: DEBITED, title: "several are reported in their order", check: debitSeveral },
  { group: DEBITED, title: "callers at the same time are all charged", check: debitTogether },
  ...forEachKind(allLimits, HELD, "a cancel leaves what was there", cancelHeld),
  ...forEachKind(rateLimits, HELD, "a commit of less refunds the rest", commitLess),
  ...forEachKind(rateLimits, HELD, "a commit of more is debt", commitMore),
  ...forEachKind(allLimits, HELD, "a refusal holds nothing", holdNothing),
  { group: HELD, title: "several limits yield a receipt each", check: holdSeveral },
];

async function debit(stand: Stand, gate: Gate, key: string, cost: number): Promise<CounterStatus> {
  const statuses = await stand.store.debit(gate.charges(key, cost));
  expectEqual("statuses of one charge", statuses.length, 1);
  return statuses[0];
}

function expectUsed(what: string, seen: CounterStatus, used: number): void {
  if (Math.abs(seen.used - used) < USED_ERROR_MAX) return;
  throw new Error(`${what}: expected used ${used}, saw ${seen.used}`);
}

async function expectAsPeek(
  what: string,
  stand: Stand,
  gate: Gate,
  seen: CounterStatus,
): Promise<void> {
  const [{ source: _, ...shown }] = await stand.store.peek(gate.charges("key", 0));
  expectDecision(`${what}, against a peek of nothing`, seen, shown satisfies Partial<Verdict>);
}

async function debitIdle(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const some = await debit(stand, gate, "key", 4);
  expectUsed("4 of 10", some, 4);
  expectDecision("4 of 10", some, { allowed: true, limit: 10, remaining: 6, retryAfterMs: 0 });
  const all = await debit(stand, gate, "other", 10);
  expectUsed("10 of 10", all, 10);
  expectDecision("10 of 10", all, { allowed: true, limit: 10, remaining: 0, retryAfterMs: 0 });
  expectEqual("left after 4", await gate.left("key"), [6]);
}

async function debitMore(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 3);
  const status = await debit(stand, gate, "key", 4);
  expectUsed("3 taken, 4 debited", status, 7);
  await expectAsPeek("3 taken, 4 debited", stand, gate, status);
  expectDecision("the 3 left", await gate.take("key", 3), { allowed: true, remaining: 0 });
}

async function debitBeyond(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 6);
  const status = await debit(stand, gate, "key", 10);
  expectUsed("6 taken, 10 debited", status, 16);
  expectDecision("6 taken, 10 debited", status, { allowed: false, remaining: 0 });
  await expectAsPeek("6 taken, 10 debited", stand, gate, status);
  expectDecision("1 of none", await gate.take("key"), { allowed: false, remaining: 0 });
}

async function refundDebt(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await debit(stand, gate, "key", 16);
  await stand.store.refund(gate.charges("key", 6));
  expectDecision("the excess refunded", await gate.take("key"), { allowed: false, remaining: 0 });
  await stand.store.refund(gate.charges("key", 1));
  expectUsed("1 more refunded", await debit(stand, gate, "key", 0), 9);
  expectDecision("2 of 1", await gate.take("key", 2), { allowed: false, remaining: 1 });
  expectDecision("1 of 1", await gate.take("key"), { allowed: true, remaining: 0 });
}

async function debitNothing(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const idle = await debit(stand, gate, "key", 0);
  expectUsed("of an idle key", idle, 0);
  expectDecision("of an idle key", idle, { allowed: true, remaining: 10, resetMs: 0 });
  await gate.take("key", 3);
  for (let n = 0; n < 3; n++) {
    const status = await debit(stand, gate, "key", 0);
    expectUsed(`3 taken, reported ${n} times`, status, 3);
    await expectAsPeek(`3 taken, reported ${n} times`, stand, gate, status);
  }
}

async function reportParts(stand: Stand): Promise<void> {
  const limit = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 1000 } });
  const gate = new Gate(stand, limit);
  await gate.take("key", 3);
  stand.clock.advance(250);
  const before = await debit(stand, gate, "key", 0);
  expectUsed("3 taken, 250 ms ago", before, 2.75);
  expectDecision("3 taken, 250 ms ago", before, { remaining: 7 });
  expectUsed("9 more", await debit(stand, gate, "key", 9), 11.75);
}

async function payDebt(stand: Stand): Promise<void> {
  const limit = tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 1000 } });
  const gate = new Gate(stand, limit);
  const status = await debit(stand, gate, "key", 15);
  expectDecision("15 of 10", status, { retryAfterMs: 5000, resetMs: 15_000 });
  stand.clock.advance(5999);
  expectDecision("1 ms early", await gate.take("key"), { allowed: false, retryAfterMs: 1 });
  stand.clock.advance(1);
  expectDecision("6 units later", await gate.take("key"), { allowed: true, remaining: 0 });
}

async function debitSeveral(stand: Stand): Promise<void> {
  const limits = severalOn(stand);
  const gate = new Gate(stand, limits);
  const charges = gate.charges("key", 1).map((charge, i) => ({ ...charge, cost: i }));
  const more = gate.charges("other", 1).slice(0, 2);
  const statuses = await stand.store.debit([...charges, ...more]);
  expectEqual("statuses", statuses.length, limits.length + 2);
  const used = [...limits.keys(), 1, 1];
  statuses.forEach((status, i) => {
    expectUsed(`charge ${i}`, status, used[i]);
  });
  const left = limits.map((_, i) => 10 - i);
  expectEqual("left under each", await gate.left("key"), left);
  expectEqual("no charges", (await stand.store.debit([])).length, 0);
}

async function debitTogether(stand: Stand): Promise<void> {
  for (const [i, limit] of severalOn(stand).entries()) {
    const gate = new Gate(stand, limit, `limit ${i}`);
    await Promise.all(Array.from({ length: 17 }, () => debit(stand, gate, "key", 1)));
    expectUsed(`17 callers of a ${limit.algorithm}`, await debit(stand, gate, "key", 0), 17);
  }
}

/** A limit of ten units of each kind that the store holds, three at least. */
function severalOn({ algorithms }: Stand): readonly Limit[] {
  const kinds = heldBy(algorithms, rateLimits);
  const makers = kinds.length > 0 ? kinds : heldBy(algorithms, allLimits);
  const length = Math.max(3, makers.length);
  return Array.from({ length }, (_, i) => makers[i % makers.length](10));
}

/** Takes units that are settled in a moment. */
async function holdBriefly(stand: Stand, gate: Gate, cost: number): Promise<ChargeReceipt> {
  const outcome = await stand.store.decide(gate.charges("key", cost), { hold: "briefly" });
  expectEqual(`holding ${cost}: admitted`, outcome.allowed, true);
  expectEqual(`holding ${cost}: receipts`, outcome.receipts.length, 1);
  expectEqual(`holding ${cost}: cost of the receipt`, outcome.receipts[0].cost, cost);
  return outcome.receipts[0];
}

async function cancelHeld(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 3);
  const receipt = await holdBriefly(stand, gate, 4);
  expectEqual("left while held", await gate.left("key"), [3]);
  await stand.store.settle([{ receipt, kept: 0, nowMs: stand.clock.now() }]);
  expectEqual("left after a cancel", await gate.left("key"), [7]);
}

async function commitLess(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const receipt = await holdBriefly(stand, gate, 6);
  await stand.store.settle([{ receipt, kept: 2, nowMs: stand.clock.now() }]);
  expectEqual("left after 2 of 6", await gate.left("key"), [8]);
}

async function commitMore(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  const receipt = await holdBriefly(stand, gate, 5);
  await stand.store.settle([{ receipt, kept: 12, nowMs: stand.clock.now() }]);
  expectUsed("12 of 5", await debit(stand, gate, "key", 0), 12);
  expectDecision("after 12 of 5", await gate.take("key"), { allowed: false, remaining: 0 });
}

async function holdNothing(stand: Stand, make: LimitMaker): Promise<void> {
  const gate = new Gate(stand, make(10));
  await gate.take("key", 8);
  const outcome = await stand.store.decide(gate.charges("key", 3), { hold: "briefly" });
  expectEqual("3 of 2: admitted", outcome.allowed, false);
  expectEqual("3 of 2: receipts", outcome.receipts.length, 0);
  expectEqual("left", await gate.left("key"), [2]);
}

async function holdSeveral(stand: Stand): Promise<void> {
  const limits = severalOn(stand);
  const gate = new Gate(stand, limits);
  const { receipts } = await stand.store.decide(gate.charges("key", 4), { hold: "briefly" });
  const nowMs = stand.clock.now();
  await stand.store.settle(receipts.map((receipt, i) => ({ receipt, kept: i % 3, nowMs })));
  const left = receipts.map((_, i) => 10 - (i % 3));
  expectEqual("left under each", await gate.left("key"), left);
  expectEqual("receipts", receipts.length, limits.length);
}
