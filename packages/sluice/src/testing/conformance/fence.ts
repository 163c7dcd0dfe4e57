// Claims about the fence of a home region: a store decides charges with an epoch only while its record says that it is home
// under that epoch, and refuses them by an error otherwise, whatever the verb.

import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { fixedWindow, type Limit } from "../../limits/limits.js";
import { type FenceStore, isFenced, toRecordText } from "../../stores/fence-store.js";
import type { Charge } from "../../stores/store.js";
import type { Claim, Stand } from "./claim.js";
import { expectEqual } from "./expect.js";
import { allLimits, forEachKind, type LimitMaker, toHeld } from "./samples.js";

const GROUP = "a store decides for the epoch under which it is home, and for no other";

/** All claims of this file. A store without a fence can't be a home region's with a standby, and keeps them all. */
export const fenceClaims: readonly Claim[] = [
  { group: GROUP, title: "a record is replaced only if it is what was read", check: swapOnce },
  ...forEachKind(allLimits, GROUP, "every verb is refused under another epoch", refuseVerbs),
  { group: GROUP, title: "it starts and ends exactly, by the store's clock", check: startAndEnd },
  { group: GROUP, title: "a refusal changes nothing", check: changeNothing },
  { group: GROUP, title: "a receipt of an earlier epoch is refused", check: refuseReceipts },
  { group: GROUP, title: "charges without an epoch are decided as ever", check: ignoreOthers },
].map(({ check, ...claim }) => ({
  ...claim,
  check: async (stand) => {
    if (typeof stand.store.fence?.swap === "function") await check(stand);
  },
}));

function fenceOf({ store }: Stand): FenceStore {
  if (store.fence === undefined) throw new Error("the store has no fence");
  return store.fence;
}

/** Makes the store home, from now on for a minute. */
async function makeHome(stand: Stand, epoch: number, fromMs?: number): Promise<void> {
  const fence = fenceOf(stand);
  const nowMs = stand.clock.now();
  const { text: expected } = await fence.read(nowMs);
  const from = fromMs ?? nowMs;
  const record = { epoch, home: "eu", fromMs: from, untilMs: from + 60_000, notBeforeMs: 0 };
  const { isSwapped } = await fence.swap({ expected, next: toRecordText(record), nowMs });
  expectEqual("the record is written", isSwapped, true);
}

function chargeOn(stand: Stand, limit: Limit, epoch?: number): Charge {
  const counter = { scope: "fenced", part: 0, limit };
  const nowMs = stand.clock.now();
  if (epoch === undefined) return { counter, key: "key", cost: 1, nowMs };
  return { counter: { ...counter, epoch }, key: "key", cost: 1, nowMs };
}

/** Whether the store refused a call because it is not home; any other error is thrown. */
async function wasFenced(call: () => MaybePromise<unknown>): Promise<boolean> {
  try {
    const answer = call();
    if (isThenable(answer)) await answer;
    return false;
  } catch (error) {
    if (isFenced(error)) return true;
    throw error;
  }
}

async function swapOnce(stand: Stand): Promise<void> {
  const fence = fenceOf(stand);
  const nowMs = stand.clock.now();
  const atFirst = await fence.read(nowMs);
  expectEqual("at first", [atFirst.nowMs, atFirst.text], [nowMs, ""]);
  for (const [next, text, isSwapped] of [
    ["1 eu 0 0 0", "1 eu 0 0 0", true],
    ["2 us 0 0 0", "1 eu 0 0 0", false],
  ] as const) {
    const seen = await fence.swap({ expected: "", next, nowMs });
    expectEqual(next, [seen.nowMs, seen.text, seen.isSwapped], [nowMs, text, isSwapped]);
  }
  expectEqual("at last", (await fence.read(nowMs)).text, "1 eu 0 0 0");
}

async function refuseVerbs(stand: Stand, make: LimitMaker): Promise<void> {
  const { store } = stand;
  const limit = toHeld(make(10), stand.algorithms);
  const verbs = (charge: Charge): Record<string, () => MaybePromise<unknown>> => ({
    decide: () => store.decide([charge]),
    "decide with a receipt": () => store.decide([charge], { hold: true }),
    "decide with an id": () => store.decide([charge], { requestId: "id" }),
    peek: () => store.peek([charge]),
    debit: () => store.debit([charge]),
    refund: () => store.refund([charge]),
    reset: () => store.reset([charge]),
  });
  const seen = async (epoch: number) => {
    const refused: string[] = [];
    for (const [name, call] of Object.entries(verbs(chargeOn(stand, limit, epoch)))) {
      if (await wasFenced(call)) refused.push(name);
    }
    return refused;
  };
  const all = Object.keys(verbs(chargeOn(stand, limit)));
  expectEqual("without a record", await seen(1), all);
  await makeHome(stand, 2);
  expectEqual("under an earlier epoch", await seen(1), all);
  expectEqual("under a later epoch", await seen(3), all);
  expectEqual("under its own epoch", await seen(2), []);
}

async function startAndEnd(stand: Stand): Promise<void> {
  const { store, clock } = stand;
  const limit = toHeld(fixedWindow({ limit: 10, windowMs: 1_000 }), stand.algorithms);
  const isRefused = () => wasFenced(() => store.decide([chargeOn(stand, limit, 1)]));
  await makeHome(stand, 1, clock.now() + 500);
  for (const [pauseMs, expected] of [
    [0, true],
    [499, true],
    [1, false],
    [59_999, false],
    [1, true],
  ] as const) {
    clock.advance(pauseMs);
    expectEqual(`refused after ${pauseMs} ms more`, await isRefused(), expected);
  }
}

async function changeNothing(stand: Stand): Promise<void> {
  const { store } = stand;
  const limit = toHeld(fixedWindow({ limit: 10, windowMs: 60_000 }), stand.algorithms);
  await makeHome(stand, 2);
  await wasFenced(() => store.decide([chargeOn(stand, limit, 1)]));
  await wasFenced(() => store.debit([chargeOn(stand, limit, 1)]));
  const [{ remaining }] = await store.peek([chargeOn(stand, limit, 2)]);
  expectEqual("left", remaining, 10);
  expectEqual("refusals are counted", fenceOf(stand).refusals, 2);
}

async function refuseReceipts(stand: Stand): Promise<void> {
  const { store, clock } = stand;
  const limit = toHeld(fixedWindow({ limit: 10, windowMs: 60_000 }), stand.algorithms);
  await makeHome(stand, 1);
  const { receipts } = await store.decide([chargeOn(stand, limit, 1)], { hold: true });
  await makeHome(stand, 3);
  const settling = { receipt: receipts[0], kept: 0, nowMs: clock.now() };
  expectEqual("refused", await wasFenced(() => store.settle([settling])), true);
  const [{ remaining }] = await store.peek([chargeOn(stand, limit, 3)]);
  expectEqual("left", remaining, 9);
}

async function ignoreOthers(stand: Stand): Promise<void> {
  const { store } = stand;
  const limit = toHeld(fixedWindow({ limit: 10, windowMs: 60_000 }), stand.algorithms);
  await fenceOf(stand).swap({ expected: "", next: "7 us 0 0 0", nowMs: stand.clock.now() });
  const { allowed } = await store.decide([chargeOn(stand, limit)]);
  expectEqual("allowed", allowed, true);
}
