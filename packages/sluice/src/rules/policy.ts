// A policy: decides requests under a set of rules that may be replaced at any time. Rules that need no
// identity go first, then the cheaper stores before the dearer ones. A request is charged by all of
// them or by none: what a later one refuses, the earlier ones get back.

import { type Clock, toWholeMs } from "../clock.js";
import { SluiceError } from "../errors.js";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { DecideOptions, Outcome, Store } from "../stores/store.js";
import { addCharges, type Moment, type RuleCharge } from "./charge.js";
import { type CompiledRule, type CompiledRules, CounterRegistry, compileRules } from "./compile.js";
import type { Facts } from "./facts.js";
import { Held, type HeldCharge, settleAll } from "./held.js";
import { Lanes } from "./lanes.js";
import { PolicyDecision, type RuleResult, toResult } from "./policy-decision.js";
import { type PolicyOptions, type PolicySetup, toPolicySetup } from "./policy-options.js";
import type { RuleSet } from "./rule.js";
import { Subject } from "./subject.js";

/** How a request is put to a policy. */
export interface AdmitOptions {
  /**
   * Finds out the rest: who the caller is, what its body says. Called only if a rule that may match
   * needs it, and only after the rules that don't have admitted the request.
   */
  readonly identify?: () => MaybePromise<Facts>;
  /** Makes the same request, sent twice, count once. Never take it from an untrusted client. */
  readonly requestId?: string;
}

/** A policy over rules. Made by {@link createPolicy}. */
export class Policy {
  readonly #setup: PolicySetup;
  readonly #lanes: Lanes;
  readonly #counters = new CounterRegistry();
  readonly #off = new Set<string>();
  #compiled: CompiledRules;
  #isClosed = false;

  constructor(options: PolicyOptions) {
    this.#setup = toPolicySetup(options);
    this.#lanes = new Lanes(this.#setup.store, this.#setup.clock);
    this.#compiled = this.#compile(this.#setup.rules);
  }

  /** The version of the rules in force. */
  get version(): string {
    return this.#compiled.ruleSet.version;
  }

  /**
   * Decides a request, and charges every matching rule if it is admitted. If the decision is held,
   * `finish` has to be called when the response is there or the client is gone.
   */
  admit(facts: Facts, options: AdmitOptions = NO_OPTIONS): MaybePromise<PolicyDecision> {
    const compiled = this.#compiled;
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this policy");
    if (!compiled.isOn) return new PolicyDecision(compiled.ruleSet.version, [], undefined);
    const subject = new Subject(facts, compiled.ruleSet.ipv6Prefix);
    const request = new Request(compiled, subject, this.#moment());
    compiled.early.match(subject, request.rules);
    const { identify } = options;
    if (identify === undefined || !compiled.late.mayMatch(subject)) {
      compiled.late.match(subject, request.rules);
      return this.#decide(request, options, true);
    }
    return andThen(this.#decide(request, options, false), (early) => {
      if (!early.allowed) return early;
      return andThen(identify(), (known) => {
        request.identified(new Subject(known, compiled.ruleSet.ipv6Prefix));
        compiled.late.match(request.subject, request.rules);
        return this.#decide(request, options, true);
      });
    });
  }

  /** Puts other rules in force at once. What was used of limits that stay is kept. */
  replace(rules: RuleSet): void {
    this.#compiled = this.#compile(rules);
  }

  /** Returns what is leased. The store is closed only if the policy made it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lanes.close();
    if (this.#setup.ownsStore) await this.#setup.store.close();
  }

  #compile(rules: RuleSet): CompiledRules {
    const compiled = compileRules(rules, {
      lanes: this.#lanes,
      counters: this.#counters,
      onStoreFailure: this.#setup.onStoreFailure,
      off: this.#off,
    });
    this.#counters.turn();
    return compiled;
  }

  #moment(): Moment {
    const { clock } = this.#setup;
    const nowMs = toWholeMs(clock.now());
    return { nowMs, wallMs: clock.wall === undefined ? nowMs : toWholeMs(clock.wall()) };
  }

  /** Charges what the rules found so far ask for. `isLast`: no more rules will come. */
  #decide(request: Request, options: AdmitOptions, isLast: boolean): MaybePromise<PolicyDecision> {
    const charges: RuleCharge[] = [];
    const context = { moment: request.moment, costs: this.#setup.costs, isExemptIp: false };
    for (const rule of request.rules) {
      if (!addCharges(rule, request.subject, context, charges)) {
        return andThen(this.#giveBack(request), () => request.refuse(rule.rule.id));
      }
    }
    request.rules.length = 0;
    if (charges.length === 0) return request.conclude(this.#setup.clock);
    const [first] = charges;
    const { store } = first.rule.lane;
    if (
      charges.length === 1 &&
      isLast &&
      first.isFinal &&
      !first.shadow &&
      store.decideOne !== undefined
    ) {
      const verdict = store.decideOne(
        first.counter,
        first.key,
        first.cost,
        first.nowMs,
        request.moment.nowMs,
      );
      return andThen(verdict, (answer) => {
        request.results.push(toResult(first, answer));
        return answer.allowed ? request.conclude(this.#setup.clock) : this.#refuse(request);
      });
    }
    return this.#decideLanes(request, toLanes(charges), options, isLast);
  }

  #decideLanes(
    request: Request,
    lanes: readonly RuleCharge[][],
    options: AdmitOptions,
    isLast: boolean,
  ): MaybePromise<PolicyDecision> {
    const [charges, ...others] = lanes;
    if (charges === undefined) return request.conclude(this.#setup.clock);
    const { store } = charges[0].rule.lane;
    const isOnly = isLast && others.length === 0;
    const outcome = store.decide(charges, toDecideOptions(charges, request, options, isOnly));
    return andThen(outcome, (answer) => {
      request.take(charges, answer, store);
      if (!answer.isAdmitted) return this.#refuse(request);
      return this.#decideLanes(request, others, options, isLast);
    });
  }

  /** A refusal: what was charged before it is given back. */
  #refuse(request: Request): MaybePromise<PolicyDecision> {
    return andThen(this.#giveBack(request), () => request.conclude(this.#setup.clock));
  }

  #giveBack(request: Request): MaybePromise<void> {
    return settleAll(request.takeHeld(), this.#setup.clock, () => 0);
  }
}

/** A policy over rules and a store; see {@link PolicyOptions}. */
export function createPolicy(options: PolicyOptions): Policy {
  return new Policy(options);
}

const NO_OPTIONS: AdmitOptions = {};

/** A request on its way through the rules. */
class Request {
  readonly results: RuleResult[] = [];
  /** Rules that matched and were not charged yet. */
  readonly rules: CompiledRule[] = [];
  #held: HeldCharge[] = [];

  constructor(
    readonly compiled: CompiledRules,
    public subject: Subject,
    readonly moment: Moment,
  ) {}

  identified(subject: Subject): void {
    this.subject = subject;
  }

  take(charges: readonly RuleCharge[], outcome: Outcome, store: Store): void {
    for (const [i, charge] of charges.entries()) {
      this.results.push(toResult(charge, outcome.verdicts[i]));
    }
    for (const receipt of outcome.receipts) {
      const charge = charges.find(
        ({ counter, key }) => counter === receipt.counter && key === receipt.key,
      );
      if (charge !== undefined) this.#held.push({ charge, receipt, store });
    }
  }

  takeHeld(): readonly HeldCharge[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  conclude(clock: Clock): PolicyDecision {
    const kept =
      this.#held.length === 0 ? this.#held : this.#held.filter(({ charge }) => !charge.isFinal);
    const held = kept.length === 0 ? undefined : new Held(kept, clock);
    return new PolicyDecision(this.compiled.ruleSet.version, this.results, held);
  }

  refuse(rule: string): PolicyDecision {
    return new PolicyDecision(this.compiled.ruleSet.version, this.results, undefined, rule);
  }
}

/** Charges by lane, the cheapest lane first. */
function toLanes(charges: readonly RuleCharge[]): RuleCharge[][] {
  const lanes = new Map<unknown, RuleCharge[]>();
  for (const charge of charges) {
    const { lane } = charge.rule;
    const list = lanes.get(lane);
    if (list === undefined) lanes.set(lane, [charge]);
    else list.push(charge);
  }
  return [...lanes.values()].sort((a, b) => a[0].rule.lane.order - b[0].rule.lane.order);
}

function toDecideOptions(
  charges: readonly RuleCharge[],
  request: Request,
  { requestId }: AdmitOptions,
  isOnly: boolean,
): DecideOptions {
  const isHeld = charges.some(({ isFinal }) => !isFinal);
  const hold = isHeld || (isOnly ? false : ("briefly" as const));
  const options = { hold, blockNowMs: request.moment.nowMs };
  return requestId === undefined ? options : { ...options, requestId };
}
