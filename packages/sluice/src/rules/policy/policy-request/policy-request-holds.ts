// What a request holds until it ends, noted for rules with `escalate` and `when`, which have to know how much of a limit is
// only reserved.

import { toWholeMs } from "../../../base/clock.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import type { ChargeReceipt } from "../../../stores/store.js";
import type { RuleCharge } from "../charges/request-charges.js";
import { HeldCharges, type SettleContext } from "../held-charges/held-charges.js";
import type { RequestEnd } from "../held-charges/request-end.js";

/** Everything that one request holds. Rules that escalate know what of it is reserved, until it is settled. */
export class RequestHolds extends HeldCharges {
  readonly #clock: SettleContext["clock"];
  #reserved: readonly RuleCharge[] = NOTHING_RESERVED;

  constructor(context: SettleContext) {
    super(context);
    this.#clock = context.clock;
  }

  override add(
    charges: readonly RuleCharge[],
    receipts: readonly ChargeReceipt[],
    isOfEarlier: boolean,
  ): void {
    super.add(charges, receipts, isOfEarlier);
    const reserved = charges.filter(isReserved);
    if (reserved.length === 0) return;
    const nowMs = toWholeMs(this.#clock.now());
    for (const { rule, key, units } of reserved) rule.escalation?.reserve(key, units, nowMs);
    this.#reserved = [...this.#reserved, ...reserved];
  }

  override settle(end: RequestEnd, nowMs?: number): MaybePromise<void> {
    return andThen(super.settle(end, nowMs), () => this.#release());
  }

  override cancel(nowMs?: number): MaybePromise<void> {
    return andThen(super.cancel(nowMs), () => this.#release());
  }

  override abandon(nowMs?: number): MaybePromise<void> {
    return andThen(super.abandon(nowMs), () => this.#release());
  }

  /** After the store has settled: until then it still refuses because of what is reserved. */
  #release(): void {
    for (const { rule, key, units } of this.#reserved) rule.escalation?.release(key, units);
    this.#reserved = NOTHING_RESERVED;
  }
}

/** Whether a charge is reserved until it is known if it counts. Of several limits of a rule, the first stands for all. */
function isReserved(
  { rule, isHeld, ruleLimit }: RuleCharge,
  i: number,
  all: readonly RuleCharge[],
) {
  if (rule.escalation === undefined || rule.definition.when === undefined) return false;
  if (!isHeld || ruleLimit.kind.isPermit) return false;
  return !all.slice(0, i).some((other) => other.rule === rule && !other.ruleLimit.kind.isPermit);
}

const NOTHING_RESERVED: readonly RuleCharge[] = [];
