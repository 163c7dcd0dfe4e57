// How the charges of a request are put to a store: whether they may have to be refunded, and by which time blocks run.

import type { DecideOptions } from "../../../stores/store.js";
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

/** Whether a charge goes to the durable store, and with it all others of its lane. */
function isDurable({ counter }: RuleCharge): boolean {
  return counter.durable !== undefined;
}
