// A policy: decides requests under a set of rules that may be replaced at any time. This file lists its
// verbs; what each does to a request is in policy-request/, peek/ and operator/.

import type { Clock, TimeOptions } from "../../base/clock.js";
import { SluiceError } from "../../base/errors.js";
import { type MaybePromise, notify } from "../../base/maybe-promise.js";
import { runInSlices, runSteps, type Steps } from "../../base/steps.js";
import type { Facts } from "../facts.js";
import type { AddressLists } from "../lists/address-lists.js";
import type { Rule, RuleSet } from "../rule.js";
import type { FindTenant } from "../tenant-profile.js";
import { CompiledRules } from "./compile/compile.js";
import { Lanes, type PolicyStats } from "./compile/lanes.js";
import { RuleEscalations } from "./compile/rule-escalation.js";
import type { CallerBlocks } from "./operator/caller-blocks.js";
import { type ActOptions, RuleKey, ruleOf } from "./operator/operator.js";
import { PassClaims } from "./pass-claims.js";
import { type ExplainOptions, type Explanation, explainRequest } from "./peek/explain.js";
import { peekRequest, type RuleState, stateOf } from "./peek/peek.js";
import { type PolicyEvent, toEscalationReports, toReplaced } from "./policy-events.js";
import type { PolicyOptions, PolicySetup, RulesInput, RulesParser } from "./policy-options.js";
import { toPolicySetup, toRuleSet } from "./policy-options.js";
import { type AdmitOptions, type CostOptions, NO_OPTIONS } from "./policy-request/admit-options.js";
import { OperatorRefusals } from "./policy-request/operator-refusals.js";
import { PolicyDecision, type RefusalCause } from "./policy-request/policy-decision.js";
import { PolicyRequest, type RequestContext } from "./policy-request/policy-request.js";
import { admitOrRedeem, withReport } from "./policy-request/redeem.js";
import { SingleRulePath } from "./policy-request/single-rule-path.js";
import { PreparedRules } from "./prepared-rules.js";
import { toRequestContext } from "./request-context.js";
import { EVENT_OF, Switches, type SwitchState, type SwitchStates } from "./switches.js";

/** A policy over rules. Made by `createPolicy`, or by middleware for limits in code. */
export class Policy {
  /** Remembers which passes were used. @internal */
  readonly passClaims: PassClaims;
  readonly #setup: PolicySetup;
  readonly #parse: RulesParser;
  readonly #lanes: Lanes;
  readonly #escalations: RuleEscalations;
  readonly #context: RequestContext;
  #switches = new Switches();
  #blocks: CallerBlocks | undefined;
  #findTenant: FindTenant | undefined;
  #compiled: CompiledRules;
  /** Undefined if operators refuse nothing. */
  #refusals: OperatorRefusals | undefined;
  /** Undefined if the rules in force or operators need more, or `onDecision` wants every decision with its facts. */
  #singleRulePath: SingleRulePath | undefined;
  #isClosed = false;

  /** @internal */
  constructor(options: PolicyOptions, parse: RulesParser) {
    const setup = toPolicySetup(options, parse);
    this.#setup = setup;
    this.passClaims = new PassClaims(setup);
    this.#parse = parse;
    this.#lanes = new Lanes(setup.store, setup);
    const reports = toEscalationReports((event) => this.#emit(event));
    this.#escalations = new RuleEscalations(setup.clock, reports);
    this.#context = toRequestContext(setup, {
      isClosed: () => this.#isClosed,
      findTenant: () => this.#findTenant,
    });
    this.#compiled = runSteps(this.#compile(setup.rules));
    this.#updatePaths();
  }

  /** The time by which it decides. */
  get clock(): Clock {
    return this.#setup.clock;
  }

  /** The fast path for request handlers; undefined unless a single rule by address is in force. @internal */
  get singleRulePath(): SingleRulePath | undefined {
    return this.#singleRulePath;
  }

  /** The rules in force, compiled; undefined if operators refuse callers. @internal */
  get plainRules(): CompiledRules | undefined {
    return this.#refusals === undefined ? this.#compiled : undefined;
  }

  /** The version of the rules in force. */
  get version(): string {
    return this.#compiled.ruleSet.version;
  }

  /** The rules in force, those that are switched off included. */
  get rules(): RuleSet {
    return this.#compiled.ruleSet;
  }

  /** The rule of that id, switched off or not; undefined if there is none. */
  ruleOf(ruleId: string): Rule | undefined {
    return this.#compiled.byId.get(ruleId)?.definition;
  }

  /** What operators switched off or to `deny`, rules that have since been removed included. */
  get switches(): SwitchStates {
    return this.#switches.states;
  }

  /** The callers that are blocked, as `blockCallers` was given them. */
  get callerBlocks(): CallerBlocks | undefined {
    return this.#blocks;
  }

  /** The addresses that are refused or not limited, as they were given. */
  get lists(): AddressLists | undefined {
    return this.#setup.lists;
  }

  /** What leases, syncs and known refusals did so far. All undefined over a store in this process. */
  get stats(): PolicyStats {
    return this.#lanes.stats;
  }

  /** Whether a rule or block has to know the caller or the body. If none has, `identify` is never called. */
  get needsIdentity(): boolean {
    return !this.#compiled.late.isEmpty || this.#refusals?.needsIdentity === true;
  }

  /** Whether nothing is decided about a request before its API key is resolved. @internal */
  get startsWithApiKey(): boolean {
    return this.#refusals === undefined && this.#compiled.startsWithApiKey;
  }

  /**
   * Decides a request, and charges every matching rule if it is admitted. If the decision is held,
   * `finish` has to be called when the response is there or the client is gone. Answers synchronously
   * where every rule is decided in process.
   *
   * @throws SluiceError `SLUICE_CLOSED` after `close`; what a cost function or `identify` throws, and
   * what a store fails with under `onStoreFailure: throw`. Nothing is charged then.
   */
  admit(facts: Facts, options: AdmitOptions = NO_OPTIONS): MaybePromise<PolicyDecision> {
    const request = this.#request(facts, options);
    const decision =
      options.redeem === undefined
        ? request.admit()
        : admitOrRedeem(request, options, (known, others) => this.#request(known, others));
    return withReport(decision, request, this.#setup.onDecision);
  }

  /**
   * What `admit` would answer, with what is left now and nothing charged. Takes all facts in one call:
   * there is nothing to find out later.
   */
  peek(facts: Facts, options: CostOptions = NO_OPTIONS): MaybePromise<PolicyDecision> {
    return peekRequest(this.#request(facts, options));
  }

  /** The answer to a caller that may not pass, whatever the rules say. Charges nothing. @internal */
  refuse(cause: RefusalCause): PolicyDecision {
    return new PolicyDecision(this.version, [], undefined, cause);
  }

  /**
   * How the caller stands under every rule that could count it and is exposed, whatever the path, the
   * method, the host and the headers of the request that asks; at most 256 limits. Rules that count
   * by endpoint are included only if the request falls under them. Charges nothing.
   */
  state(facts: Facts, options: TimeOptions = NO_OPTIONS): MaybePromise<readonly RuleState[]> {
    return stateOf(this.#request(facts, options));
  }

  /**
   * Why a request would be answered as it would: which rules match and why, what they count it by,
   * how each counter stands, which rule would bind. Charges nothing. The answer is plain JSON.
   */
  explain(facts: Facts, options: ExplainOptions = {}): MaybePromise<Explanation> {
    return explainRequest(this.#request(facts, options), options);
  }

  /**
   * Puts other rules in force immediately. What was used of limits that stay is kept, and what was used
   * under other numbers carries over. Requests under way are decided and settled by the rules that
   * they began with. Rules that can't be used are an error and change nothing.
   */
  replace(rules: RulesInput | PreparedRules): void {
    this.#mustBeOpen();
    const before = this.rules;
    const prepared = rules instanceof PreparedRules ? rules : undefined;
    this.#putInForce(prepared?.ruleSet ?? toRuleSet(rules, this.#parse), prepared);
    // Prepared with the rules in force, only switches differ.
    if (prepared === undefined || this.rules !== before) this.#emit(toReplaced(before, this.rules));
  }

  /**
   * Compiles rules in slices of a few milliseconds, between which requests are decided; parsing them is not sliced.
   * `replace` then puts them in force in one short step, with `switches` if they are given. If rules or switches changed
   * meanwhile, it compiles the rules once more, in one go.
   */
  async prepare(rules: RulesInput, switches?: SwitchStates): Promise<PreparedRules> {
    this.#mustBeOpen();
    const before = this.#compiled;
    const others = switches && Switches.of(switches);
    const steps = this.#compile(toRuleSet(rules, this.#parse), others);
    return new PreparedRules({ compiled: await runInSlices(steps), before, switches: others });
  }

  /**
   * Switches a rule, or everything if `ruleId` is undefined. `off`: requests pass and nothing is counted. `deny`: every
   * request that the rule matches is refused and charged nowhere, exempt callers included; with `undefined` every
   * request is. `deny` wins over `off`, whichever of them is about everything. Takes effect immediately, and stays over a
   * replacement of the rules, also one that leaves the rule out and one that brings it back.
   *
   * @throws SluiceError `SLUICE_RULE_UNKNOWN` if there is no such rule, and none of that name is switched.
   */
  switch(ruleId: string | undefined, state: SwitchState): void {
    this.#mustBeOpen();
    const isKnown = ruleId === undefined || this.#switches.of(ruleId) !== "on";
    if (!isKnown) ruleOf(this.#compiled, ruleId);
    this.#switches.set(ruleId, state);
    this.#putInForce(this.#compiled.ruleSet);
    this.#emit({ kind: EVENT_OF[state], rule: ruleId });
  }

  /** Puts all switches to these states, also of rules that are not in force yet. Rules that are not listed are on. */
  setSwitches(states: SwitchStates): void {
    this.#mustBeOpen();
    this.#switches.setAll(states);
    this.#putInForce(this.#compiled.ruleSet);
  }

  /** `switch(ruleId, "off")`. */
  disable(ruleId?: string): void {
    this.switch(ruleId, "off");
  }

  /** `switch(ruleId, "on")`. Without a rule it leaves those off that were switched one by one, or by the rules. */
  enable(ruleId?: string): void {
    this.switch(ruleId, "on");
  }

  /**
   * Refuses requests of these callers from now on, before any rule is asked: also where everything is switched off, and
   * of exempt addresses. They are charged nowhere. Undefined ends all such blocks. `callerBlocks` makes one from a list.
   */
  blockCallers(blocks: CallerBlocks | undefined): void {
    this.#mustBeOpen();
    this.#blocks = blocks;
    this.#updatePaths();
  }

  /** Adds what is known of their tenant to requests that name one and no plan; its calendar to all. Undefined ends it. */
  describeTenants(find: FindTenant | undefined): void {
    this.#mustBeOpen();
    this.#findTenant = find;
  }

  /** The facts with what is known of their tenant, as requests are decided by them. @internal */
  complete(facts: Facts): Facts {
    return this.#context.complete(facts);
  }

  /**
   * Refuses every request of a key under a rule for so long: whole milliseconds from 1, or Infinity. The key is written
   * as it is counted: `user:42`. Callers of a tier that is unlimited are not counted, and so not blocked.
   *
   * @throws SluiceError `SLUICE_RULE_UNKNOWN`, or `SLUICE_RULE_KEY_INVALID` if the rule counts no such
   * key, and so do the other verbs on one; or if it has no limit for the key.
   */
  block(ruleId: string, key: string, forMs: number, options?: TimeOptions): MaybePromise<void> {
    return this.#keyOf(ruleId, key).block(forMs, options);
  }

  /** Ends a block immediately. Returns whether there was one. */
  unblock(ruleId: string, key: string, options?: TimeOptions): MaybePromise<boolean> {
    return this.#keyOf(ruleId, key).unblock(options);
  }

  /** How long a key is still blocked: 0 if it is not, Infinity if until it is unblocked, undefined without the store. */
  blockedMs(ruleId: string, key: string, options?: TimeOptions): MaybePromise<number | undefined> {
    return this.#keyOf(ruleId, key).blockedMs(options);
  }

  /** Forgets what a key used under a rule, in every tier. Blocks stay. */
  reset(ruleId: string, key: string, options?: ActOptions): MaybePromise<void> {
    return this.#keyOf(ruleId, key).reset(options);
  }

  /**
   * Grants a key units of every limit of a rule, at most what it used. Permits are not granted. Returns how many units
   * were really refunded: the most under any of the limits. It is read before and after, so requests of the same key
   * in between can make it differ.
   */
  refund(ruleId: string, key: string, cost: number, options?: ActOptions): MaybePromise<number> {
    return this.#keyOf(ruleId, key).refund(cost, options);
  }

  /** Returns what is leased. The store is closed only if the policy made it, a durable store never. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#singleRulePath = undefined;
    this.#escalations.close();
    await this.#lanes.close();
    if (this.#setup.ownsStore) await this.#setup.store.close();
  }

  #request(facts: Facts, options: AdmitOptions = NO_OPTIONS): PolicyRequest {
    this.#mustBeOpen();
    // A caller that is still to be identified is completed then.
    const known = options.identify === undefined ? this.#context.complete(facts) : facts;
    return new PolicyRequest(this.#context, this.#compiled, known, options, this.#refusals);
  }

  #keyOf(ruleId: string, key: string): RuleKey {
    this.#mustBeOpen();
    return new RuleKey(this.#compiled, ruleId, key, this.#setup.clock);
  }

  #putInForce(ruleSet: RuleSet, prepared?: PreparedRules): void {
    const { switches = this.#switches } = prepared ?? {};
    const ready = prepared?.compiledAfter(this.#compiled);
    this.#compiled = ready ?? runSteps(this.#compile(ruleSet, switches));
    this.#switches = switches;
    this.#updatePaths();
  }

  /** To be called when the rules in force, a switch or the blocks have changed. */
  #updatePaths(): void {
    this.#refusals = OperatorRefusals.of(this.#compiled, this.#blocks, this.#setup.lists);
    const isPlain = this.#setup.onDecision === undefined && this.#refusals === undefined;
    this.#singleRulePath = isPlain ? SingleRulePath.of(this.#compiled, this.#context) : undefined;
  }

  #compile(ruleSet: RuleSet, switches = this.#switches): Steps<CompiledRules> {
    return CompiledRules.compile(ruleSet, {
      ...this.#setup,
      lanes: this.#lanes,
      escalations: this.#escalations,
      switches,
      findTenant: (tenant) => this.#findTenant?.(tenant),
      before: this.#compiled,
    });
  }

  #emit(event: PolicyEvent): void {
    notify(() => this.#setup.onEvent?.(event));
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this policy");
  }
}
