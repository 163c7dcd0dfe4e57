// What a request holds until it ends: permits, and charges of rules whose cost or whether they count is
// known only from the response. Settling never fails towards who waits for the response: what a store
// could not take is told as an event, and stays charged (a permit until it expires).

import { type Clock, countedMsOf } from "../clock.js";
import { isThenable, type MaybePromise } from "../maybe-promise.js";
import type { ChargeReceipt, Settling, Store } from "../stores/store.js";
import type { RuleCharge } from "./charge.js";
import { toWholeUnits } from "./cost.js";
import type { RequestEnd } from "./policy-decision.js";
import type { When } from "./rule.js";

/** A charge that was taken, and what gives it back. */
export interface HeldCharge {
  readonly charge: RuleCharge;
  readonly receipt: ChargeReceipt;
  /** Held only in case that the request does not go on; its store need not hear that it did. */
  readonly isBrief: boolean;
}

/** What settling needs. */
export interface SettleContext {
  readonly clock: Clock;
  /** Told of a store that did not settle. */
  readonly onSettleFailed: (rules: readonly string[], error: unknown) => void;
}

/** Everything that one request holds. */
export class Held {
  readonly #context: SettleContext;
  #charges: readonly HeldCharge[];

  constructor(charges: readonly HeldCharge[], context: SettleContext) {
    this.#charges = charges;
    this.#context = context;
  }

  /** Settles everything by how the request ended. Later calls do nothing. */
  settle(end: RequestEnd): MaybePromise<void> {
    const open = this.#take().filter(({ isBrief }) => !isBrief);
    return settleAll(open, this.#context, ({ charge }) => toKept(charge, end));
  }

  /** Gives everything back. Later calls do nothing. */
  cancel(): MaybePromise<void> {
    return giveBackAll(this.#take(), this.#context);
  }

  #take(): readonly HeldCharge[] {
    const charges = this.#charges;
    this.#charges = [];
    return charges;
  }
}

/** Gives charges back whole. Never fails. */
export function giveBackAll(
  held: readonly HeldCharge[],
  context: SettleContext,
): MaybePromise<void> {
  return settleAll(held, context, () => 0);
}

/** Presents receipts to the stores that have them, each store at once. Never fails. */
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
    const rules = new Set(held.map(({ charge }) => charge.rule.rule.id));
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
  return { receipt, kept, nowMs: countedMsOf(clock, charge.ruleLimit.isQuota) };
}

function storeOf({ charge }: HeldCharge): Store {
  return charge.rule.lane.store;
}

/** How many units of a charge stay, now that the request has ended. */
function toKept(charge: RuleCharge, end: RequestEnd): number {
  const { when } = charge.rule.rule;
  if (charge.ruleLimit.isPermit) return 0;
  // Without a response a guess stays counted: hanging up must not be a way around the limit.
  if (when !== undefined && end.status !== undefined && !isCounted(when, end.status)) return 0;
  const said = toSaid(charge, end);
  // What is no number of units says nothing of the cost: what was reserved stays.
  return Number.isSafeInteger(said) && (said as number) >= 0 ? (said as number) : charge.cost;
}

/** What the end of a request says of the cost, if anything. */
function toSaid(charge: RuleCharge, end: RequestEnd): unknown {
  const { settle } = charge.rule.rule;
  switch (settle?.kind) {
    case "code":
      return end.cost;
    case "bytes":
      return end.bytes;
    case "header":
      return toWholeUnits(end.header?.(settle.name));
    default:
      return undefined;
  }
}

function isCounted(when: When, status: number): boolean {
  const isListed =
    when.statuses.includes(status) || when.statuses.includes(Math.floor(status / 100));
  return isListed === when.isCounted;
}
