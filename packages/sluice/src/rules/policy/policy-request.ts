// A request on its way through the rules of a policy. Rules that need no identity go first, then the
// cheaper stores before the dearer ones. It is charged by all of them or by none: what a later one
// refuses, the earlier ones get back.

import { toWholeMs, wallMsOf } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { toCost } from "../../limiter/verb-input.js";
import type { DecideOptions, Outcome } from "../../stores/store.js";
import type { Facts } from "../facts.js";
import type { Matcher } from "../match/matcher.js";
import { NormalizedRequest } from "../match/normalized-request.js";
import type { Dimension } from "../rule.js";
import type { AdmitOptions, Identify, RequestNeeds } from "./admit-options.js";
import { CallerRefusal } from "./caller-refusal.js";
import type { CompiledRule, CompiledRules } from "./compile.js";
import type { CostFunctions } from "./cost.js";
import {
  type DecidedRuleCharge,
  forgetTaken,
  refuseIfDelayed,
  toDecided,
} from "./decided-charge.js";
import { HeldCharges, type SettleContext } from "./held-charges.js";
import { type SampleFinding, watchKey } from "./key-sample.js";
import { isOneLane, toLanes } from "./lanes.js";
import { PolicyDecision } from "./policy-decision.js";
import {
  addCharges,
  type ChargeContext,
  isExemptIp,
  type RuleCharge,
  toOnlyCharge,
  toRevocable,
} from "./request-charges.js";

/** What all requests of a policy share. */
export interface RequestContext extends SettleContext {
  readonly costs: CostFunctions;
  /** Whether a request can wait, and be settled when its response is there. */
  readonly seesResponses: boolean;
  /** Called once enough keys of a rule were seen. */
  readonly onSampled: (rule: CompiledRule, finding: SampleFinding) => void;
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
  readonly #options: AdmitOptions;
  /** What was decided so far. */
  #results: readonly DecidedRuleCharge[] = NOTHING_DECIDED;
  #isInOrder = true;
  /** How many results are of charges that were taken. */
  #takenResults = 0;
  /** What can be given back; undefined if nothing can. */
  #held: HeldCharges | undefined;
  /** The rule that refuses because the request lacks what it is counted by. */
  #missing: string | undefined;
  /** Why the caller may not pass. */
  #refusal: CallerRefusal | undefined;

  constructor(
    context: RequestContext,
    compiled: CompiledRules,
    facts: Facts,
    options: AdmitOptions,
  ) {
    this.normalized = new NormalizedRequest(facts, compiled.ruleSet.ipv6Prefix);
    this.nowMs = toWholeMs(options.nowMs ?? context.clock.now());
    this.costs = context.costs;
    this.context = context;
    this.compiled = compiled;
    this.#options = options;
    this.cost = options.cost === undefined ? undefined : toCost(options.cost);
    this.isReserved = options.hold === true;
  }

  get wallMs(): number {
    return wallMsOf(this.context.clock);
  }

  /** The rules that the request falls under by the facts so far, exempt addresses under none. */
  matching(): readonly CompiledRule[] {
    return this.#isCounted() ? this.compiled.all.match(this.normalized) : [];
  }

  /** The rules that could count the caller, whatever it asks for; by endpoint only what it asks for. */
  standing(): readonly CompiledRule[] {
    const found = this.#isCounted() ? this.compiled.byCaller.match(this.normalized) : [];
    const matching = new Set(this.matching());
    return found
      .map(({ rule }) => rule)
      .filter((rule) => matching.has(rule) || !rule.definition.key.some(isEndpoint));
  }

  #isCounted(): boolean {
    const { isOn, ruleSet } = this.compiled;
    return isOn && !isExemptIp(ruleSet.exempt, this.normalized);
  }

  /** Decides the request. What was charged when something fails is given back. */
  admit(): MaybePromise<PolicyDecision> {
    try {
      const allowed = this.#passAll();
      if (!isThenable(allowed)) return this.#conclude(allowed);
      return allowed.then((answer) => this.#conclude(answer)).catch((error) => this.#fail(error));
    } catch (error) {
      return this.#fail(error);
    }
  }

  #passAll(): MaybePromise<boolean> {
    const compiled = this.compiled;
    const { identify, resolvesApiKey } = this.#options;
    if (resolvesApiKey === true && identify !== undefined) return this.#passResolved(identify);
    if (!this.#isCounted()) return true;
    if (identify === undefined) return this.#pass(compiled.all, true);
    if (!compiled.late.mayMatch(this.normalized)) return this.#pass(compiled.early, true);
    const early = this.#pass(compiled.early, false);
    if (isThenable(early)) {
      return early.then((allowed) => allowed && this.#passLate(identify, compiled.late));
    }
    return early && this.#passLate(identify, compiled.late);
  }

  /** A key that is unknown is refused whatever the rules say, also where none is in force or the address is exempt. */
  #passResolved(identify: Identify): MaybePromise<boolean> {
    if (!this.#isCounted()) return this.#passLate(identify, undefined);
    const { earlyWithoutKeys, lateWithKeys } = this.compiled;
    const early = this.#pass(earlyWithoutKeys, false);
    if (isThenable(early)) {
      return early.then((allowed) => allowed && this.#passLate(identify, lateWithKeys));
    }
    return early && this.#passLate(identify, lateWithKeys);
  }

  /** @param late - The rules that know the caller; undefined if none is in force for it. */
  #passLate(identify: Identify, late: Matcher<CompiledRule> | undefined): MaybePromise<boolean> {
    const needsBody = late !== undefined && this.compiled.byBody.mayMatch(this.normalized);
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
      this.#refusal = facts;
      return false;
    }
    if (late === undefined) return true;
    // Verifying a token takes its time, and what has refilled meanwhile is there. A known API key takes none.
    if (!isImmediate) this.nowMs = toWholeMs(this.context.clock.now());
    // What is derived from facts that were only added to still holds: path, host and address don't change.
    if (facts !== this.normalized.facts) {
      this.normalized = new NormalizedRequest(facts, this.compiled.ruleSet.ipv6Prefix);
    }
    if (this.#results !== NOTHING_DECIDED) this.#isInOrder = false;
    return this.#pass(late, true);
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
        this.#missing = rules[i].definition.id;
        return false;
      }
    }
    return charges.length === 0 || this.#charge(charges);
  }

  #charge(charges: readonly RuleCharge[]): MaybePromise<boolean> {
    for (let i = 0; i < charges.length; i++) this.#sample(charges[i]);
    if (charges.length === 1 && this.#isPlain(charges[0])) return this.#passOne(charges[0]);
    if (isOneLane(charges)) return this.#passLane(charges, this.isLast);
    this.#isInOrder = false;
    return this.#passLanes(toLanes(charges), 0);
  }

  #chargeOnly(charge: RuleCharge): MaybePromise<boolean> {
    this.#sample(charge);
    return this.#isPlain(charge) ? this.#passOne(charge) : this.#passLane([charge], this.isLast);
  }

  #sample({ rule, key, ruleLimit }: RuleCharge): void {
    if (rule.sample === undefined || ruleLimit.counter.part > 0) return;
    watchKey(rule, key, this.nowMs, this.context.onSampled);
  }

  /** Whether one charge can go the shortest way. Nothing comes after it then: it is final. */
  #isPlain(charge: RuleCharge): boolean {
    const isBare = charge.isFinal && !charge.shadow && charge.caller === undefined;
    return isBare && this.#options.requestId === undefined;
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
    const outcome = store.decide(charges, this.#toOptions(charges, isLast));
    return isThenable(outcome)
      ? Promise.resolve(outcome).then((answer) => this.#take(charges, answer))
      : this.#take(charges, outcome);
  }

  #toOptions(charges: readonly RuleCharge[], isLast: boolean): DecideOptions {
    let hold: boolean | "briefly" = isLast ? false : "briefly";
    let hasQuota = false;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i];
      if (charge.isHeld) hold = true;
      else if (!charge.isFinal && hold === false) hold = "briefly";
      hasQuota ||= charge.ruleLimit.isQuota;
    }
    const { requestId } = this.#options;
    if (requestId !== undefined) return { hold, blockNowMs: this.nowMs, requestId };
    return hold === false && !hasQuota ? PLAIN : { hold, blockNowMs: this.nowMs };
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
      this.#held ??= new HeldCharges(this.context);
      this.#held.add(charges, receipts);
    }
    return mayGoOn;
  }

  #conclude(allowed: boolean): MaybePromise<PolicyDecision> {
    if (this.#refusal !== undefined) return this.#refuseCaller(this.#refusal);
    if (!allowed) this.#forgetTaken();
    if (!this.#isInOrder) this.#results = this.#results.toSorted(byOrder);
    const { version } = this.compiled.ruleSet;
    if (allowed) return new PolicyDecision(version, this.#results, this.#toHeld(), undefined);
    const given = this.#held?.cancel();
    const decision = new PolicyDecision(version, this.#results, undefined, this.#missing);
    return isThenable(given) ? given.then(() => decision) : decision;
  }

  /** What was charged so far stays: or a flood of invented keys would be free. */
  #refuseCaller(refusal: CallerRefusal): MaybePromise<PolicyDecision> {
    const { version } = this.compiled.ruleSet;
    const settled = this.#held?.settle({ status: refusal.status });
    const decision = new PolicyDecision(version, this.#results, undefined, undefined, refusal);
    return isThenable(settled) ? settled.then(() => decision) : decision;
  }

  /** What was charged is given back. */
  #forgetTaken(): void {
    const taken = this.#takenResults;
    if (taken === 0) return;
    this.#results = this.#results.map((each, i) => (i < taken ? forgetTaken(each) : each));
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
    return given.then(() => {
      throw error;
    });
  }
}

const WITH_BODY: RequestNeeds = { body: true };
const WITHOUT_BODY: RequestNeeds = { body: false };
const NOTHING_DECIDED: readonly DecidedRuleCharge[] = [];
/** Of most requests. Blocks run by the time of each charge, which only a quota has of its own. */
const PLAIN: DecideOptions = { hold: false };

function byOrder(a: DecidedRuleCharge, b: DecidedRuleCharge): number {
  return a.rule.order - b.rule.order;
}

function isEndpoint({ kind }: Dimension): boolean {
  return kind === "endpoint";
}
