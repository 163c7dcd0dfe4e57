// Reads without charging: how a request would be answered, and the status of its caller under every rule that
// responses may show.

import type { Verdict } from "../../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { describeKey } from "../../identity-keys/key.js";
import type { Dimension } from "../../rule.js";
import { type DecidedRuleCharge, refuseIfDelayed, toDecided } from "../charges/decided-charge.js";
import { addCharges, type ChargeContext, type RuleCharge } from "../charges/request-charges.js";
import type { CompiledRule } from "../compile/compile.js";
import type { CostFunctions } from "../cost.js";
import { waitMsOf } from "../held-charges/hold-times.js";
import { toLanes } from "../policy-request/charge-lanes.js";
import { PolicyDecision, toMissing } from "../policy-request/policy-decision.js";
import type { PolicyRequest } from "../policy-request/policy-request.js";

/** The status of a caller under one limit of a rule. It never shows the key. */
export interface RuleState {
  readonly rule: string;
  /** What is counted: `ip`, `tenant|user`. */
  readonly keyType: string;
  /** The algorithm, such as `tokenBucket`. */
  readonly algorithm: string;
  readonly limit: number;
  readonly remaining: number;
  /** Until the full quota is back, in milliseconds. */
  readonly resetMs: number;
  /**
   * Until a request under this rule would pass, in milliseconds: 0 if it would now, Infinity if never.
   * Where the cost is a function, a request of one unit.
   */
  readonly retryAfterMs: number;
}

/** At most this many limits are shown, however many there are. */
const STATES_MAX = 256;

/** What the request would be answered. */
export function peekRequest(request: PolicyRequest): MaybePromise<PolicyDecision> {
  const { version } = request.compiled.ruleSet;
  const cause = request.toRefusalCause();
  if (cause !== undefined) return new PolicyDecision(version, [], undefined, cause);
  const charges: RuleCharge[] = [];
  for (const rule of request.matching()) {
    if (addCharges(rule, request.normalized, request, charges) === "refused") {
      return new PolicyDecision(version, [], undefined, toMissing(rule.definition.id));
    }
  }
  return andThen(
    peekCharges(charges, request),
    (results) => new PolicyDecision(version, results, undefined, undefined),
  );
}

/** What each charge would be answered, in their order. */
export function peekCharges(
  charges: readonly RuleCharge[],
  request: PolicyRequest,
): MaybePromise<readonly DecidedRuleCharge[]> {
  const decided = new Map<RuleCharge, DecidedRuleCharge>();
  const waits: Promise<void>[] = [];
  for (const lane of toLanes(charges)) {
    const verdicts = lane[0].rule.lane.store.peek(lane, { blockNowMs: request.nowMs });
    const noted = andThen(verdicts, (answers) => {
      for (const [i, charge] of lane.entries()) {
        decided.set(charge, toPeeked(charge, answers[i], request));
      }
    });
    if (isThenable(noted)) waits.push(noted);
  }
  const inOrder = () => charges.map((charge) => decided.get(charge) as DecidedRuleCharge);
  return waits.length === 0 ? inOrder() : Promise.all(waits).then(inOrder);
}

function toPeeked(
  charge: RuleCharge,
  verdict: Verdict,
  { context }: PolicyRequest,
): DecidedRuleCharge {
  const decided = toDecided(charge, verdict, charge.cost);
  return context.seesResponses ? decided : refuseIfDelayed(decided);
}

/** The status of the caller under the rules that could count it and are exposed. */
export function stateOf(request: PolicyRequest): MaybePromise<readonly RuleState[]> {
  const charges: RuleCharge[] = [];
  const { nowMs, wallMs, normalized } = request;
  const context: ChargeContext = {
    nowMs,
    wallMs,
    costs: NO_COSTS,
    cost: undefined,
    isReserved: false,
    isLast: true,
  };
  for (const rule of rulesOfCaller(request)) {
    if (charges.length >= STATES_MAX) break;
    if (rule.definition.isExposed && !rule.shadow) addCharges(rule, normalized, context, charges);
  }
  const shown = charges.slice(0, STATES_MAX);
  const refusedMs = toRefusedMs(request);
  return andThen(peekCharges(shown, request), (answers) =>
    answers.map((answer) => toState(answer, refusedMs)),
  );
}

/** How long an operator refuses the caller under every rule; 0 if it is not. */
function toRefusedMs(request: PolicyRequest): number {
  const cause = request.toRefusalCause();
  return cause === undefined || cause.rule !== undefined ? 0 : cause.retryAfterMs;
}

/** The rules that could count the caller, whatever it asks for; by endpoint only what it asks for. */
function rulesOfCaller(request: PolicyRequest): readonly CompiledRule[] {
  const { compiled, normalized } = request;
  const found = request.isCounted() ? compiled.byCaller.match(normalized) : [];
  const matching = new Set(request.matching());
  return found
    .map(({ rule }) => rule)
    .filter((rule) => matching.has(rule) || !rule.definition.key.some(isEndpoint));
}

function isEndpoint({ kind }: Dimension): boolean {
  return kind === "endpoint";
}

/** The status of a caller does not depend on costs, so cost functions are not called. */
const NO_COSTS: CostFunctions = new Map();

function toState(
  { rule: { definition: rule, switchedTo }, ruleLimit, verdict, counter }: DecidedRuleCharge,
  refusedMs: number,
): RuleState {
  const waitMs = switchedTo === "deny" ? Number.POSITIVE_INFINITY : waitMsOf({ verdict, counter });
  return {
    rule: rule.id,
    keyType: describeKey(rule.key),
    algorithm: ruleLimit.kind.limit.algorithm,
    limit: verdict.limit,
    remaining: verdict.remaining,
    resetMs: verdict.resetMs,
    retryAfterMs: Math.max(refusedMs, waitMs ?? Number.POSITIVE_INFINITY),
  };
}
