// What a request holds until it ends: permits, and charges of rules whose cost or whether they count is
// known only from the response.

import type { Clock } from "../clock.js";
import { toCost } from "../limiter-input.js";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { ChargeReceipt, Settling, Store } from "../stores/store.js";
import type { RuleCharge } from "./charge.js";
import type { RequestEnd } from "./policy-decision.js";
import type { When } from "./rule.js";

/** A charge that was taken, and the store that has it. */
export interface HeldCharge {
  readonly charge: RuleCharge;
  readonly receipt: ChargeReceipt;
  readonly store: Store;
}

/** Everything that one request holds. */
export class Held {
  readonly #clock: Clock;
  #charges: readonly HeldCharge[];

  constructor(charges: readonly HeldCharge[], clock: Clock) {
    this.#charges = charges;
    this.#clock = clock;
  }

  /** Settles everything by how the request ended. Later calls do nothing. */
  settle(end: RequestEnd): MaybePromise<void> {
    const charges = this.#charges;
    this.#charges = [];
    return settleAll(charges, this.#clock, ({ charge }) => toKept(charge, end));
  }
}

/** Presents receipts to the stores that have them. */
export function settleAll(
  held: readonly HeldCharge[],
  clock: Clock,
  toUnits: (held: HeldCharge) => number,
): MaybePromise<void> {
  let done: MaybePromise<void> | undefined;
  for (const store of new Set(held.map((one) => one.store))) {
    const settlings = held
      .filter((one) => one.store === store)
      .map(
        (one): Settling => ({
          receipt: one.receipt,
          kept: toUnits(one),
          nowMs: one.charge.ruleLimit.isQuota ? (clock.wall ?? clock.now)() : clock.now(),
        }),
      );
    done = andThen(done as MaybePromise<void>, () => store.settle(settlings));
  }
  return done;
}

/** How many units of a charge stay, now that the request has ended. */
function toKept(charge: RuleCharge, end: RequestEnd): number {
  const { when, settle } = charge.rule.rule;
  if (charge.ruleLimit.isPermit) return 0;
  // Without a response a guess stays counted: hanging up must not be a way around the limit.
  if (when !== undefined && end.status !== undefined && !isCounted(when, end.status)) return 0;
  if (settle === undefined) return charge.cost;
  switch (settle.kind) {
    case "code":
      return end.cost === undefined ? charge.cost : toCost(end.cost);
    case "bytes":
      return end.bytes ?? charge.cost;
    case "header": {
      const text = end.header?.(settle.name);
      return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : charge.cost;
    }
  }
}

function isCounted(when: When, status: number): boolean {
  const isListed =
    when.statuses.includes(status) || when.statuses.includes(Math.floor(status / 100));
  return isListed === when.isCounted;
}
