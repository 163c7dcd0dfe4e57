// A request on its way through the rules of a policy. Rules that need no identity go first, then the cheaper stores
// before the more expensive ones. The request is charged by all of them or by none: if a later one refuses, the
// charges of the earlier ones are refunded.

import { toWholeMs, wallMsOf } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { toCost } from "../../../limiter/verb-input.js";
import type { Outcome } from "../../../stores/store.js";
import type { Facts } from "../../facts.js";
import type { Matcher } from "../../match/matcher.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import {
  byOrder,
  type DecidedRuleCharge,
  forgetTaken,
  refuseIfDelayed,
  toDecided,
} from "../charges/decided-charge.js";
import { noteRefusals } from "../charges/note-refusals.js";
import {
  addCharges,
  type ChargeContext,
  isExemptIp,
  type RuleCharge,
  toOnlyCharge,
  toRevocable,
} from "../charges/request-charges.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import { type SampleFinding, watchKey } from "../compile/key-sample.js";
import type { CostFunctions } from "../cost.js";
import type { HeldCharges, SettleContext } from "../held-charges/held-charges.js";
import { type AdmitOptions, type Identify, WITH_BODY, WITHOUT_BODY } from "./admit-options.js";
import { CallerRefusal } from "./caller-refusal.js";
import { isOneLane, toLanes } from "./charge-lanes.js";
import { isOfEarlier, toDecideOptions } from "./decide-options.js";
import type { OperatorRefusals } from "./operator-refusals.js";
import { PolicyDecision, type RefusalCause, toMissing } from "./policy-decision.js";
import { RequestHolds } from "./policy-request-holds.js";

/** What all requests of a policy share. */
export interface RequestContext extends SettleContext {
  readonly costs: CostFunctions;
  /** Whether a request can wait, and be settled when its response is there. */
  readonly seesResponses: boolean;
  /** Called once enough keys of a rule were seen. */
  readonly onSampled: (rule: CompiledRule, finding: SampleFinding) => void;
  /** Adds what is known of the tenant. */
  readonly complete: (facts: Facts) => Facts;
  readonly normalize: (facts: Facts, by: { ipv6Prefix: number }) => NormalizedRequest;
}

/** One request under one set of rules. */
export class PolicyRequest implements ChargeContext {
  /** The facts so far. */
  normalized: NormalizedRequest;
  /** By the clock, read again for what is charged after the request was looked into. */
  nowMs: number;
  readonly costs: CostFunctions;
  readonly cost: number | undefined;
  readonly isReserved: boolean;
  /** Whether no rules come after those that are charged now. */
  isLast = true;
  readonly context: RequestContext;
  readonly compiled: CompiledRules;
  /** Undefined if operators refuse nothing. */
  readonly #refusals: OperatorRefusals | undefined;
  readonly #options: AdmitOptions;
  /** What was decided so far. */
  #results: readonly DecidedRuleCharge[] = NOTHING_DECIDED;
  #isInOrder = true;
  /** How many results are of charges that were taken. */
  #takenResults = 0;
  /** What can be refunded; undefined if nothing can. */
  #held: HeldCharges | undefined;
  /** Why it is refused, if no limit is why. */
  #cause: RefusalCause | undefined;

  constructor(
    context: RequestContext,
    compiled: CompiledRules,
    facts: Facts,
    options: AdmitOptions,
    refusals: OperatorRefusals | undefined,
  ) {
    this.normalized = context.normalize(facts, compiled.ruleSet);
    this.nowMs = toWholeMs(options.nowMs ?? context.clock.now());
    this.costs = context.costs;
    this.context = context;
    this.compiled = compiled;
    this.#refusals = refusals;
    this.#options = options;
    this.cost = options.cost === undefined ? undefined : toCost(options.cost);
    this.isReserved = options.hold === true;
  }

  get wallMs(): number {
    return wallMsOf(this.context.clock);
  }

  /** The rules that the request falls under by the facts so far, exempt addresses under none. */
  matching(): readonly CompiledRule[] {
    return this.isCounted() ? this.compiled.all.match(this.normalized) : [];
  }

  /** Whether rules are in force for the request: not where all are off, or its address is exempt. */
  isCounted(): boolean {
    const { isOn, ruleSet } = this.compiled;
    const { facts } = this.normalized;
    return isOn && !isExemptIp(ruleSet.exempt, this.normalized) && !this.#refusals?.allows(facts);
  }

  /** Decides the request. If something fails, what was charged is refunded. */
  admit(): MaybePromise<PolicyDecision> {
    try {
      const allowed = this.#passAll();
      if (!isThenable(allowed)) return this.#conclude(allowed);
      return allowed.then((answer) => this.#conclude(answer)).catch((error) => this.#fail(error));
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Why an operator refuses the request, by all facts that it has; undefined if none does. */
  toRefusalCause(): RefusalCause | undefined {
    return this.#refusals?.find(this.normalized, this.wallMs, true);
  }

  #passAll(): MaybePromise<boolean> {
    const compiled = this.compiled;
    const { identify, resolvesApiKey } = this.#options;
    if (this.#refusals !== undefined) return this.#passOperators(this.#refusals);
    if (resolvesApiKey === true && identify !== undefined) return this.#passResolved(identify);
    if (!this.isCounted()) return true;
    if (identify === undefined) return this.#pass(compiled.all, true);
    if (!compiled.late.mayMatch(this.normalized)) return this.#pass(compiled.early, true);
    return this.#passBoth(identify, compiled.early, compiled.late);
  }

  /** The same where operators may refuse: by what the request shows first, then by who its caller is. */
  #passOperators(refusals: OperatorRefusals): MaybePromise<boolean> {
    const { normalized, compiled } = this;
    const { identify, resolvesApiKey } = this.#options;
    this.#cause = refusals.find(normalized, this.wallMs, identify === undefined);
    if (this.#cause !== undefined) return false;
    if (resolvesApiKey === true && identify !== undefined) return this.#passResolved(identify);
    const isCounted = this.isCounted();
    if (identify === undefined) return !isCounted || this.#pass(compiled.all, true);
    const isLate = isCounted && compiled.late.mayMatch(normalized);
    if (!isLate && !refusals.needsIdentityOf(normalized)) {
      return !isCounted || this.#pass(compiled.early, true);
    }
    if (!isCounted) return this.#passLate(identify, undefined);
    return this.#passBoth(identify, compiled.early, compiled.late);
  }

  /** The rules that need no identity, then who the caller is, then the other rules. */
  #passBoth(
    identify: Identify,
    early: Matcher<CompiledRule>,
    late: Matcher<CompiledRule>,
  ): MaybePromise<boolean> {
    const passed = early.isEmpty || this.#pass(early, false);
    if (!isThenable(passed)) return passed && this.#passLate(identify, late);
    return passed.then((allowed) => allowed && this.#passLate(identify, late));
  }

  /** A key that is unknown is refused whatever the rules say, also where none is in force or the address is exempt. */
  #passResolved(identify: Identify): MaybePromise<boolean> {
    if (!this.isCounted()) return this.#passLate(identify, undefined);
    const { earlyWithoutKeys, lateWithKeys } = this.compiled;
    return this.#passBoth(identify, earlyWithoutKeys, lateWithKeys);
  }

  /** @param late - The rules that know the caller; undefined if none is in force for it. */
  #passLate(identify: Identify, late: Matcher<CompiledRule> | undefined): MaybePromise<boolean> {
    const { byBody } = this.compiled;
    const needsBody = late !== undefined && !byBody.isEmpty && byBody.mayMatch(this.normalized);
    const facts = identify(needsBody ? WITH_BODY : WITHOUT_BODY);
    if (isThenable(facts)) {
      return Promise.resolve(facts).then((known) => this.#passKnown(known, late, false));
    }
    return this.#passKnown(facts, late, this.#options.resolvesApiKey === true);
  }

  #passKnown(
    facts: Facts | CallerRefusal,
    late: Matcher<CompiledRule> | undefined,
    isImmediate: boolean,
  ): MaybePromise<boolean> {
    if (facts instanceof CallerRefusal) {
      this.#cause = facts;
      return false;
    }
    // Verifying a token takes its time, and what has refilled meanwhile is there. A known API key takes none.
    if (!isImmediate) this.nowMs = toWholeMs(this.context.clock.now());
    // What is derived from facts that were only added to still holds: path, host and address don't change.
    if (facts !== this.normalized.facts) {
      this.normalized = this.context.normalize(this.context.complete(facts), this.compiled.ruleSet);
    }
    if (this.#results !== NOTHING_DECIDED) this.#isInOrder = false;
    if (this.#refusals !== undefined) {
      this.#cause = this.#refusals.find(this.normalized, this.wallMs, true);
      if (this.#cause !== undefined) return false;
    }
    return late === undefined || this.#pass(late, true);
  }

  /** Charges the rules that match. `isLast`: no more will come. */
  #pass(matcher: Matcher<CompiledRule>, isLast: boolean): MaybePromise<boolean> {
    this.isLast = isLast;
    const rules = matcher.match(this.normalized);
    // A list of its size: one that grows takes room for seventeen (bench http/node).
    const only = rules.length === 1 ? toOnlyCharge(rules[0], this.normalized, this) : undefined;
    if (only !== undefined) return this.#chargeOnly(only);
    const charges: RuleCharge[] = [];
    for (let i = 0; i < rules.length; i++) {
      if (addCharges(rules[i], this.normalized, this, charges) === "refused") {
        this.#cause = toMissing(rules[i].definition.id);
        return false;
      }
    }
    return charges.length === 0 || this.#charge(charges);
  }

  #charge(charges: readonly RuleCharge[]): MaybePromise<boolean> {
    for (let i = 0; i < charges.length; i++) this.#sample(charges[i]);
    if (charges.length === 1 && this.#isBare(charges[0])) return this.#passOne(charges[0]);
    if (isOneLane(charges)) return this.#passLane(charges, this.isLast);
    this.#isInOrder = false;
    return this.#passLanes(toLanes(charges), 0);
  }

  #chargeOnly(charge: RuleCharge): MaybePromise<boolean> {
    this.#sample(charge);
    return this.#isBare(charge) ? this.#passOne(charge) : this.#passLane([charge], this.isLast);
  }

  #sample({ rule, key, ruleLimit }: RuleCharge): void {
    if (rule.sample === undefined || ruleLimit.counter.part > 0) return;
    watchKey(rule, key, this.nowMs, this.context.onSampled);
  }

  /** Whether one charge can go the shortest way. Nothing comes after it then: it is final. */
  #isBare(charge: RuleCharge): boolean {
    const { isFinal, shadow, caller } = charge;
    return isFinal && !shadow && caller === undefined && this.#options.requestId === undefined;
  }

  #passOne(charge: RuleCharge): MaybePromise<boolean> {
    const { store } = charge.rule.lane;
    if (store.decideOne === undefined) return this.#passLane([charge], true);
    const { counter, key, cost, nowMs } = charge;
    const verdict = store.decideOne(counter, key, cost, nowMs, this.nowMs);
    if (!isThenable(verdict)) return this.#takeOne(charge, verdict);
    return Promise.resolve(verdict).then((known) => this.#takeOne(charge, known));
  }

  #takeOne(charge: RuleCharge, verdict: Verdict): boolean {
    this.#note([toDecided(charge, verdict, 0)]);
    return verdict.allowed;
  }

  #passLanes(lanes: readonly RuleCharge[][], from: number): MaybePromise<boolean> {
    for (let i = from; i < lanes.length; i++) {
      const isLast = this.isLast && i === lanes.length - 1;
      const allowed = this.#passLane(isLast ? lanes[i] : lanes[i].map(toRevocable), isLast);
      if (isThenable(allowed)) {
        return allowed.then((answer) => answer && this.#passLanes(lanes, i + 1));
      }
      if (!allowed) return false;
    }
    return true;
  }

  /** Charges one lane. `isLast`: nothing after it can refuse. */
  #passLane(charges: readonly RuleCharge[], isLast: boolean): MaybePromise<boolean> {
    const { store } = charges[0].rule.lane;
    const outcome = store.decide(
      charges,
      toDecideOptions(charges, isLast, this.nowMs, this.#options),
    );
    return isThenable(outcome)
      ? Promise.resolve(outcome).then((answer) => this.#take(charges, answer))
      : this.#take(charges, outcome);
  }

  /** Notes what a lane said. Returns whether the request may go on. */
  #take(charges: readonly RuleCharge[], outcome: Outcome): boolean {
    const { allowed, verdicts, receipts } = outcome;
    const mayWait = this.context.seesResponses;
    const results: DecidedRuleCharge[] = new Array(charges.length);
    let mayGoOn = allowed;
    for (let i = 0; i < charges.length; i++) {
      const decided = toDecided(charges[i], verdicts[i], allowed ? 0 : charges[i].cost);
      results[i] = mayWait || !allowed ? decided : refuseIfDelayed(decided);
      if (allowed) mayGoOn &&= results[i].verdict.allowed || charges[i].shadow;
    }
    this.#note(results);
    if (allowed) this.#takenResults = this.#results.length;
    if (receipts.length > 0) {
      this.#held ??= new RequestHolds(this.context);
      this.#held.add(charges, receipts, isOfEarlier(outcome, this.#options));
    }
    return mayGoOn;
  }

  #conclude(allowed: boolean): MaybePromise<PolicyDecision> {
    if (this.#cause instanceof CallerRefusal) return this.#refuseCaller(this.#cause);
    if (!allowed) this.#results = forgetTaken(this.#results, this.#takenResults);
    if (!this.#isInOrder) this.#results = this.#results.toSorted(byOrder);
    const { version } = this.compiled.ruleSet;
    if (allowed) return new PolicyDecision(version, this.#results, this.#toHeld(), undefined);
    if (this.#options.redeem === undefined) noteRefusals(this.#results, this.nowMs);
    const given = this.#held?.cancel();
    const decision = new PolicyDecision(version, this.#results, undefined, this.#cause);
    return isThenable(given) ? given.then(() => decision) : decision;
  }

  /** What was charged so far stays: or a flood of invented keys would be free. */
  #refuseCaller(refusal: CallerRefusal): MaybePromise<PolicyDecision> {
    const { version } = this.compiled.ruleSet;
    const settled = this.#held?.settle({ status: refusal.status });
    const decision = new PolicyDecision(version, this.#results, undefined, refusal);
    return isThenable(settled) ? settled.then(() => decision) : decision;
  }

  #note(results: readonly DecidedRuleCharge[]): void {
    this.#results = this.#results === NOTHING_DECIDED ? results : [...this.#results, ...results];
  }

  /** What is settled at the end: nothing, unless something is held or has to be waited for. */
  #toHeld(): HeldCharges | undefined {
    const held = this.#held;
    if (held === undefined || held.isLasting) return held;
    const isDelayed = this.#results.some(({ shadow, verdict }) => !shadow && verdict.delayMs > 0);
    if (isDelayed) return held;
    held.keep();
    return undefined;
  }

  #fail(error: unknown): Promise<never> {
    const given = this.#held?.cancel();
    if (!isThenable(given)) throw error;
    return given.then(() => Promise.reject(error));
  }
}

const NOTHING_DECIDED: readonly DecidedRuleCharge[] = [];
