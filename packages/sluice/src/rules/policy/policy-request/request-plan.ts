// Decides requests of one method and path faster, where rules look at nothing else and count by address: which rules match
// and what they charge is found once, and each request only changes whose charges they are. For replays of logs, in which
// most requests repeat one that came before (bench replay/speed). A test compares it with the general path.

import { MemoryStore } from "../../../stores/memory/memory-store.js";
import type { PreparedCharges, PrintedKey } from "../../../stores/memory/prepared-charges.js";
import type { DecideOptions } from "../../../stores/store.js";
import type { Facts } from "../../facts.js";
import { NormalizedRequest } from "../../match/normalized-request.js";
import type { Rule, RuleSet } from "../../rule.js";
import { toDecided } from "../charges/decided-charge.js";
import { type RuleCharge, toUniformCharge } from "../charges/request-charges.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import { PolicyDecision } from "./policy-decision.js";

/** A charge that is charged to one caller after the other. */
type MovingCharge = { -readonly [F in keyof RuleCharge]: RuleCharge[F] };

/** Plans that are kept for other requests. */
const KNOWN_MAX = 1_024;
const WITHOUT_HOLD: DecideOptions = { hold: false };
/** The key of rules that count all callers as one. */
const GLOBAL = "global";

/** What requests of one method and path are charged, in a memory store. Valid until rules are replaced. */
export class RequestPlan {
  /** The rules that match, in their order. */
  readonly rules: readonly Rule[];
  readonly #version: string;
  readonly #compiled: readonly CompiledRule[];
  readonly #charges: readonly MovingCharge[];
  readonly #store: MemoryStore | undefined;
  /** Undefined if charges need more than a slot. */
  readonly #prepared: PreparedCharges | undefined;

  /**
   * Undefined if requests like this one differ in more than their addresses.
   *
   * @param known - Plans by the rules that match, to which this one is added: most methods and paths share theirs.
   */
  static of(
    compiled: CompiledRules,
    facts: Facts,
    known?: Map<string, RequestPlan>,
  ): RequestPlan | undefined {
    const { ruleSet, all, isOn } = compiled;
    if (!isOn || ruleSet.exempt.ips !== undefined) return undefined;
    const matching = all.match(new NormalizedRequest(facts, ruleSet.ipv6Prefix));
    const id = matching.map(({ order }) => order).join();
    const shared = known?.get(id);
    if (shared !== undefined) return shared;
    const [first] = matching;
    const store = first?.lane.store;
    if (!matching.every((rule) => isPlain(rule) && rule.lane === first.lane)) return undefined;
    if (store !== undefined && !(store instanceof MemoryStore)) return undefined;
    const plan = new RequestPlan(ruleSet.version, matching, store);
    if (known !== undefined && known.size < KNOWN_MAX) known.set(id, plan);
    return plan;
  }

  private constructor(
    version: string,
    compiled: readonly CompiledRule[],
    store: MemoryStore | undefined,
  ) {
    this.rules = compiled.map(({ definition }) => definition);
    this.#version = version;
    this.#compiled = compiled;
    this.#charges = compiled.map((rule) => toUniformCharge(rule, keyOf(rule, ""), 0));
    this.#store = store;
    this.#prepared = store?.prepareCharges(
      this.#charges.map(({ counter, cost, nowMs, rule }) => {
        return { counter, cost, nowMs, key: isGlobal(rule) ? GLOBAL : undefined };
      }),
    );
  }

  /**
   * Charges a request. Undefined if it is allowed, else the decision.
   *
   * @param caller - The caller's key as rules by address count it, `ip:203.0.113.10`, printed by the policy's store.
   */
  decide(caller: PrintedKey, nowMs: number): PolicyDecision | undefined {
    if (this.#store === undefined || this.#prepared?.take(caller, nowMs) === true) return undefined;
    return this.#decideByStore(this.#store, caller, nowMs);
  }

  #decideByStore(
    store: MemoryStore,
    { key }: PrintedKey,
    nowMs: number,
  ): PolicyDecision | undefined {
    const charges = this.#charges;
    if (charges.length === 1) {
      const { counter, cost, rule } = charges[0];
      const verdict = store.decideOne(counter, keyOf(rule, key), cost, nowMs, nowMs);
      return verdict.allowed ? undefined : this.#toDecision([verdict], key, nowMs, false);
    }
    for (const charge of charges) {
      charge.key = keyOf(charge.rule, key);
      charge.nowMs = nowMs;
    }
    const { allowed, verdicts } = store.decide(charges, WITHOUT_HOLD);
    return allowed ? undefined : this.#toDecision(verdicts, key, nowMs, true);
  }

  #toDecision(
    verdicts: readonly Parameters<typeof toDecided>[1][],
    key: string,
    nowMs: number,
    isList: boolean,
  ): PolicyDecision {
    const results = this.#compiled.map((rule, i) => {
      const charge = toUniformCharge(rule, keyOf(rule, key), nowMs);
      return toDecided(charge, verdicts[i], isList ? charge.cost : 0);
    });
    return new PolicyDecision(this.#version, results, undefined);
  }
}

/** Whether requests can be planned at all: no rule looks at hosts, headers, attributes or where the client is. */
export function canPlan({ rules }: RuleSet): boolean {
  return rules.every(
    ({ match: { hosts, headers, attributes, client } }) =>
      hosts.length + headers.size + attributes.size === 0 && client === undefined,
  );
}

function keyOf(rule: CompiledRule, key: string): string {
  return isGlobal(rule) ? GLOBAL : key;
}

function isGlobal({ definition }: CompiledRule): boolean {
  return definition.key[0].kind === "global";
}

/** Whether a rule charges one limit by address, or for all, immediately and for good. */
function isPlain({
  definition,
  isUniform,
  shadow,
  escalation,
  lane,
  limits,
}: CompiledRule): boolean {
  const { key, onExceed } = definition;
  const isByAddress = key.length === 1 && (key[0].kind === "ip" || key[0].kind === "global");
  const isAlone = limits.length === 1 && !shadow && escalation === undefined && !lane.isSharded;
  if (!isByAddress || !isAlone || !isUniform || onExceed !== "reject") return false;
  const { isQuota, isHeld, mayDelay, isEnlarged, isPermit } = limits[0].kind;
  return !isQuota && !isHeld && !mayDelay && !isEnlarged && !isPermit;
}
