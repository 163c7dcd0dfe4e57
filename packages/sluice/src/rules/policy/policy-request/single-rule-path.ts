// The fast path through a policy with a single rule that matches every request and counts by address. Such a
// request gets only an answer; a decision is made if the application looks at it (benches http/node,
// workers/refuse). `Policy.singleRulePath` is the only way here, and the request handler its only caller.

import { toWholeMs } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Counter, Store } from "../../../stores/store.js";
import { toClientAddress } from "../../normalize/address.js";
import type { Match } from "../../rule.js";
import { toDecided } from "../charges/decided-charge.js";
import { toUniformCharge } from "../charges/request-charges.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import { watchKey } from "../compile/key-sample.js";
import type { RuleLimit } from "../compile/rule-limits.js";
import { PolicyDecision } from "./policy-decision.js";
import type { RequestContext } from "./policy-request.js";

/** A store that decides one charge without a list. */
type OneByOne = Store & Required<Pick<Store, "decideOne">>;

/** Decides under the one rule of a policy. */
export class SingleRulePath {
  readonly rule: CompiledRule;
  readonly limit: RuleLimit;
  readonly version: string;
  readonly #store: OneByOne;
  readonly #context: RequestContext;
  readonly #ipv6Prefix: number;
  // Most requests come from the address of the one before them.
  #latestIp: string | undefined = undefined;
  #latestKey = "";

  /** Undefined if the rules need more of a request than its address. */
  static of(compiled: CompiledRules, context: RequestContext): SingleRulePath | undefined {
    const { only } = compiled;
    if (only === undefined || !isSimple(only)) return undefined;
    const { store } = only.lane;
    return decidesOne(store) ? new SingleRulePath(only, store, compiled, context) : undefined;
  }

  private constructor(
    rule: CompiledRule,
    store: OneByOne,
    { ruleSet }: CompiledRules,
    context: RequestContext,
  ) {
    this.rule = rule;
    this.limit = rule.limits[0];
    this.version = ruleSet.version;
    this.#store = store;
    this.#context = context;
    this.#ipv6Prefix = ruleSet.ipv6Prefix;
  }

  /** Charges an address. Undefined if it is not an address; nothing is charged then. */
  decide(ip: string): MaybePromise<SingleRuleAnswer> | undefined {
    if (ip !== this.#latestIp && !this.#read(ip)) return undefined;
    const nowMs = toWholeMs(this.#context.clock.now());
    const key = this.#latestKey;
    if (this.rule.sample !== undefined) {
      watchKey(this.rule, key, nowMs, this.#context.onSampled);
    }
    const { counter } = this.limit;
    const verdict = this.#store.decideOne(counter, key, this.rule.units, nowMs, nowMs);
    if (!isThenable(verdict)) return this.#answer(key, nowMs, verdict);
    return Promise.resolve(verdict).then((late) => this.#answer(key, nowMs, late));
  }

  #answer(key: string, nowMs: number, verdict: Verdict): SingleRuleAnswer {
    if (!verdict.allowed) this.rule.escalation?.note(key, this.limit.counter.scope, verdict, nowMs);
    return new SingleRuleAnswer(this, key, nowMs, verdict);
  }

  #read(ip: string): boolean {
    const address = toClientAddress(ip, { ipv6Prefix: this.#ipv6Prefix });
    if (address === undefined) return false;
    this.#latestIp = ip;
    this.#latestKey = `ip:${address}`;
    return true;
  }
}

/** What was answered to a request on this path. */
export class SingleRuleAnswer {
  readonly path: SingleRulePath;
  readonly key: string;
  readonly nowMs: number;
  readonly verdict: Verdict;

  constructor(path: SingleRulePath, key: string, nowMs: number, verdict: Verdict) {
    this.path = path;
    this.key = key;
    this.nowMs = nowMs;
    this.verdict = verdict;
  }

  /** Like that of a decision. Nothing is held on this path. */
  get isHeld(): boolean {
    return false;
  }

  get rule(): CompiledRule {
    return this.path.rule;
  }

  get ruleLimit(): RuleLimit {
    return this.path.limit;
  }

  get counter(): Counter {
    return this.path.limit.counter;
  }

  /** The decision that the general path would have made. */
  toDecision(): PolicyDecision {
    const charge = toUniformCharge(this.path.rule, this.key, this.nowMs);
    const decided = toDecided(charge, this.verdict, 0);
    return new PolicyDecision(this.path.version, [decided], undefined);
  }
}

function decidesOne(store: Store): store is OneByOne {
  return store.decideOne !== undefined;
}

/** Whether a rule is about every request, shown on all responses and settled immediately, by address alone. */
function isSimple({ definition: rule, isUniform, shadow, limits }: CompiledRule): boolean {
  const isByAddress = rule.key.length === 1 && rule.key[0].kind === "ip";
  const isPlain = rule.isExposed && rule.onExceed !== "challenge";
  const isForAll = isUniform && !shadow && isPlain && asksNothing(rule.match);
  return isByAddress && isForAll && limits.length === 1 && isFinal(limits[0]);
}

function asksNothing({ paths, methods, hosts, headers, attributes, client }: Match): boolean {
  if (client !== undefined) return false;
  return paths.length + methods.length + hosts.length + headers.size + attributes.size === 0;
}

function isFinal({ kind: { isQuota, isHeld, mayDelay } }: RuleLimit): boolean {
  return !isQuota && !isHeld && !mayDelay;
}
