// A request that is refused may bring what lifts the refusal, such as a pass. Then it is decided once more, and only the
// second decision counts.

import { andThen, type MaybePromise, notify } from "../../../base/maybe-promise.js";
import type { Facts } from "../../facts.js";
import { noteRefusals } from "../charges/note-refusals.js";
import type { AdmitOptions } from "./admit-options.js";
import type { PolicyDecision } from "./policy-decision.js";
import type { PolicyRequest } from "./policy-request.js";

/**
 * Decides a request, and once more if `options.redeem` says that what refused it was lifted. By then all that rules
 * ask about is known, so that nothing is read or verified a second time. A refusal counts for escalation only if it was
 * not lifted: a caller that solves challenges is not blocked for it.
 */
export function admitOrRedeem(
  request: PolicyRequest,
  options: AdmitOptions,
  toRequest: (facts: Facts, options: AdmitOptions) => PolicyRequest,
): MaybePromise<PolicyDecision> {
  const { redeem } = options;
  return andThen(request.admit(), (decision) => {
    if (decision.allowed || redeem === undefined) return decision;
    const known = {
      ...options,
      ...{ identify: undefined, resolvesApiKey: false, nowMs: undefined, redeem: undefined },
    };
    return andThen(redeem(decision), (isLifted) => {
      if (isLifted) return toRequest(request.normalized.facts, known).admit();
      noteRefusals(decision.charges, request.nowMs);
      return decision;
    });
  });
}

/** The same decision, after `onDecision` got it with the facts that it was made by. What that throws is dropped. */
export function withReport(
  decision: MaybePromise<PolicyDecision>,
  request: PolicyRequest,
  onDecision: ((decision: PolicyDecision, facts: Facts) => unknown) | undefined,
): MaybePromise<PolicyDecision> {
  if (onDecision === undefined) return decision;
  return andThen(decision, (answer) => {
    notify(() => onDecision(answer, request.normalized.facts));
    return answer;
  });
}
