// How the charges of a request are put to a store: whether they may have to be refunded, and by which time blocks run.

import type { DecideOptions, Outcome } from "../../../stores/store.js";
import type { RuleCharge } from "../charges/request-charges.js";
import type { AdmitOptions } from "./admit-options.js";

/** The options of most requests. Blocks are judged by the time of each charge, which differs only for quotas. */
const WITHOUT_HOLD: DecideOptions = { hold: false };

/** The options of one call to a store. `isLast`: nothing after these charges can refuse. */
export function toDecideOptions(
  charges: readonly RuleCharge[],
  isLast: boolean,
  nowMs: number,
  { requestId, requestIdFor }: AdmitOptions,
): DecideOptions {
  let hold: boolean | "briefly" = isLast ? false : "briefly";
  let hasQuota = false;
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i];
    if (charge.isHeld) hold = true;
    else if (!charge.isFinal && hold === false) hold = "briefly";
    hasQuota ||= charge.ruleLimit.kind.isQuota;
  }
  const isNamed = requestId !== undefined && (requestIdFor !== "durable" || isDurable(charges[0]));
  if (isNamed) return { hold, blockNowMs: nowMs, requestId };
  return hold === false && !hasQuota ? WITHOUT_HOLD : { hold, blockNowMs: nowMs };
}

/**
 * Whether what a store took belongs to an earlier request with the same id. A caller that reserves, and sends that again,
 * has lost the first answer: what it says of its reservation is all that will be said.
 */
export function isOfEarlier(
  { isRepeated }: Outcome,
  { hold, requestIdFor }: AdmitOptions,
): boolean {
  return isRepeated === true && (hold !== true || requestIdFor === "durable");
}

/** Whether a charge goes to the durable store, and with it all others of its lane. */
function isDurable({ counter }: RuleCharge): boolean {
  return counter.durable !== undefined;
}
