// What a request holds until it ends: permits, and charges of rules whose cost or whether they count is
// known only from the response. Settling never fails the response: what a store
// could not take is reported as an event, and stays charged (a permit until it expires).

import { type Clock, countedMsOf, wallMsOf } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { ChargeReceipt, Settling, Store } from "../../../stores/store.js";
import type { RuleCharge } from "../charges/request-charges.js";
import { withDelay } from "../compile/delay.js";
import { noteHold } from "./hold-times.js";
import type { RequestEnd } from "./request-end.js";
import { isKnownCost, type SettledCost, toKept, toSettledCost } from "./settled-cost.js";

/** A charge that was taken, and the receipt that refunds it. */
interface HeldCharge {
  readonly charge: RuleCharge;
  readonly receipt: ChargeReceipt;
  /** Held only in case that the request does not go on; most stores need not hear that it did. */
  readonly isBrief: boolean;
  /** Whether it was taken for an earlier request with the same id, which may still be under way, and settles it. */
  readonly isOfEarlier: boolean;
}

/** What settling needs. */
export interface SettleContext {
  readonly clock: Clock;
  /** Called when a store did not settle. */
  readonly onSettleFailed: (rules: readonly string[], error: unknown) => void;
  /** Called once for each rule with `settle` of a request that has ended; undefined if no caller wants to know. */
  readonly onSettled: ((charge: RuleCharge, cost: SettledCost) => void) | undefined;
}

/** Everything that one request holds. */
export class HeldCharges {
  readonly #context: SettleContext;
  #charges: HeldCharge[] = [];

  constructor(context: SettleContext) {
    this.#context = context;
  }

  /** Whether something has to be settled when the request has ended, however it continues. */
  get isLasting(): boolean {
    return this.#charges.some(({ charge }) => charge.isHeld);
  }

  /**
   * Adds what a store took.
   *
   * @param isOfEarlier - Whether it took it for an earlier request with the same id.
   */
  add(
    charges: readonly RuleCharge[],
    receipts: readonly ChargeReceipt[],
    isOfEarlier: boolean,
  ): void {
    const isBrief = !charges.some(({ isHeld }) => isHeld);
    for (const receipt of receipts) {
      // A decorator may count under another key or other numbers; scope and part stay.
      const { scope, part } = receipt.counter;
      const charge = charges.find(
        ({ counter }) => counter.scope === scope && counter.part === part,
      );
      if (charge !== undefined) this.#charges.push({ charge, receipt, isBrief, isOfEarlier });
    }
  }

  /** The request continues: notifies stores that wait for what was held only in case it does not. */
  keep(): void {
    keepAll(this.#charges.filter(({ isBrief }) => isBrief));
  }

  /**
   * Settles everything by how the request ended, at `nowMs` if it is given. Later calls do nothing. A bucket that delays takes
   * nothing back while others wait: their delays depend on it, and a request that came after them would go at
   * the same time.
   */
  settle(end: RequestEnd, nowMs?: number): MaybePromise<void> {
    this.keep();
    const open = this.#take().filter(({ isBrief }) => !isBrief);
    const context = at(nowMs, this.#context);
    const own = open.filter(({ charge, isOfEarlier }) => !isOfEarlier || isKnownCost(charge, end));
    for (const { charge } of open) {
      if (charge.ruleLimit.kind.isPermit) noteHold(charge, countedMsOf(context.clock, false));
    }
    if (context.onSettled !== undefined) reportSettled(open, end, context.onSettled);
    const unused = own.filter(
      ({ charge }) => isWaitable(charge) && toKept(charge, end) < charge.cost,
    );
    if (unused.length === 0) {
      return settleAll(own, context, ({ charge }) => toKept(charge, end));
    }
    return andThen(findWaitedFor(unused, context), (waitedFor) =>
      settleAll(own, context, (one) =>
        waitedFor.has(one) ? one.charge.cost : toKept(one.charge, end),
      ),
    );
  }

  /**
   * Refunds everything, for a request that goes no further. Later calls do nothing. What an earlier request with the same
   * id was charged stays: it may have been served.
   */
  cancel(nowMs?: number): MaybePromise<void> {
    const own = this.#take().filter(({ isOfEarlier }) => !isOfEarlier);
    return settleAll(own, at(nowMs, this.#context), () => 0);
  }

  /**
   * Refunds all but tokens of buckets that delay, for a request that stopped waiting: those that came
   * after it have delays that depend on its tokens. Later calls do nothing.
   */
  abandon(nowMs?: number): MaybePromise<void> {
    const isSpent = ({ charge, isBrief }: HeldCharge) => isBrief && isWaitable(charge);
    keepAll(this.#charges.filter(isSpent));
    const open = this.#take().filter((one) => !one.isOfEarlier && !isSpent(one));
    const context = at(nowMs, this.#context);
    return settleAll(open, context, ({ charge }) => (isWaitable(charge) ? charge.cost : 0));
  }

  #take(): readonly HeldCharge[] {
    const charges = this.#charges;
    this.#charges = [];
    return charges;
  }
}

/** What settling needs at a time that the caller passed. Quotas go by the calendar regardless. */
function at(nowMs: number | undefined, context: SettleContext): SettleContext {
  if (nowMs === undefined) return context;
  const { clock } = context;
  return { ...context, clock: { now: () => nowMs, wall: () => wallMsOf(clock) } };
}

/** Reports the first charge of each rule: those of its other limits say the same. */
function reportSettled(
  held: readonly HeldCharge[],
  end: RequestEnd,
  report: NonNullable<SettleContext["onSettled"]>,
): void {
  const seen = new Set<unknown>();
  for (const { charge } of held) {
    const { rule, ruleLimit } = charge;
    const { settle, when } = rule.definition;
    if ((settle ?? when) === undefined || ruleLimit.kind.isPermit || seen.has(rule)) continue;
    seen.add(rule);
    report(charge, toSettledCost(charge, end));
  }
}

function keepAll(held: readonly HeldCharge[]): void {
  for (const one of held) storeOf(one).keep?.(one.receipt);
}

/** Whether other requests may be waiting behind the charge. A shaper's store sees to that itself. */
function isWaitable({ ruleLimit }: RuleCharge): boolean {
  return ruleLimit.kind.isEnlarged;
}

/** The charges behind which another request waits now. If a store does not say, one is assumed to wait. */
function findWaitedFor(
  charges: readonly HeldCharge[],
  { clock }: SettleContext,
): MaybePromise<ReadonlySet<HeldCharge>> {
  const found = new Set(charges);
  const waits: Promise<void>[] = [];
  for (const held of charges) {
    const { counter, key, caller, ruleLimit } = held.charge;
    const nowMs = countedMsOf(clock, false);
    const look = { counter, key, caller, cost: 0, nowMs };
    const note = ([verdict]: readonly Verdict[]) => {
      const { limit } = ruleLimit.kind;
      const { delayMs } = withDelay(verdict, { limit, counted: counter.limit, untaken: 0 });
      if (delayMs === 0) found.delete(held);
    };
    try {
      const verdicts = storeOf(held).peek([look], { blockNowMs: nowMs });
      if (isThenable(verdicts)) waits.push(Promise.resolve(verdicts).then(note, () => {}));
      else note(verdicts);
    } catch {
      // Settling will say what is wrong with the store.
    }
  }
  return waits.length === 0 ? found : Promise.all(waits).then(() => found);
}

/** Presents receipts to the stores that have them, all stores in parallel. Never fails. */
function settleAll(
  held: readonly HeldCharge[],
  context: SettleContext,
  toUnits: (held: HeldCharge) => number,
): MaybePromise<void> {
  if (held.length === 0) return undefined;
  const waits: Promise<void>[] = [];
  for (const store of new Set(held.map(storeOf))) {
    const own = held.filter((one) => storeOf(one) === store);
    const done = settleAt(store, own, context, toUnits);
    if (isThenable(done)) waits.push(done);
  }
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
}

function settleAt(
  store: Store,
  held: readonly HeldCharge[],
  context: SettleContext,
  toUnits: (held: HeldCharge) => number,
): MaybePromise<void> {
  const fail = (error: unknown) => {
    const rules = new Set(held.map(({ charge }) => charge.rule.definition.id));
    context.onSettleFailed([...rules], error);
  };
  try {
    const settlings = held.map((one) => toSettling(one, toUnits(one), context.clock));
    const done = store.settle(settlings);
    return isThenable(done) ? Promise.resolve(done).then(undefined, fail) : undefined;
  } catch (error) {
    return fail(error);
  }
}

function toSettling({ charge, receipt }: HeldCharge, kept: number, clock: Clock): Settling {
  return { receipt, kept, nowMs: countedMsOf(clock, charge.ruleLimit.kind.isQuota) };
}

function storeOf({ charge }: HeldCharge): Store {
  return charge.rule.lane.store;
}
