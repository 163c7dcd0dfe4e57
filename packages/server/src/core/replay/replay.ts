// Decides recorded requests again under other rules, with the library's own policy: in a store of its own, at the times
// at which they came. They are samples of a preview, or lines of an access log.

import {
  type Clock,
  type MaybePromise,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from "sluice";
import { type PrintedKey, RequestPlan } from "sluice/internals";
import {
  createPolicy,
  type Facts,
  type FindTenant,
  type Policy,
  type PolicyDecision,
  type RequestEnd,
  type RuleSet,
  type SwitchStates,
} from "sluice/rules";
import type { RegionsConfig } from "../../config/config.js";
import { regionsOver } from "../../config/regions-over.js";

/** A request that was decided: when it came, what was known of it, and how it ended. */
export interface ReplaySample {
  /** By the wall clock. */
  readonly atMs: number;
  /** Null for decisions that rules did not make. */
  readonly facts: Facts | null;
  readonly outcome: "allowed" | "delayed" | "blocked";
  /** Which counters it was counted in: nodes with a store of their own don't count together. Default: all in one. */
  readonly place?: string | undefined;
}

/** What holds beside the rules, for the draft and for the rules in force alike. */
export interface ReplayContext {
  /** Default: all rules are on. */
  readonly switches?: SwitchStates | undefined;
  /** The regions that share limits. Default: there is one. */
  readonly regions?: RegionsConfig | undefined;
  /** Default: nothing is known of tenants. */
  readonly findTenant?: FindTenant | undefined;
  /** The bounds of its counters. Default: room for the keys of all samples under several limits each. */
  readonly bounds?: MemoryStoreOptions | undefined;
}

/** How a request was decided again. */
export interface Replayed {
  readonly allowed: boolean;
  /** The rule that refused; undefined if none did. */
  readonly rule: string | undefined;
  /** Under that rule, as it is counted; undefined if it was not refused by a limit. */
  readonly key: string | undefined;
}

const BOUNDS = { keysMax: 131_072, receiptsMax: 1_024, requestsMax: 1, blocksMax: 16_384 };
const ALLOWED: Replayed = { allowed: true, rule: undefined, key: undefined };
const NO_RULES = { version: 1, rules: [] } as const;

/** Rules over which requests pass once more. */
export class Replay {
  readonly #policy: Policy;
  readonly #store: MemoryStore;
  readonly #plans = new Map<string, RequestPlan>();
  #nowMs = 0;

  /** Compiles rules in slices, so that decisions of the service go on. @throws What keeps a policy from using them. */
  static async of(rules: RuleSet, surroundings: ReplayContext): Promise<Replay> {
    const replay = new Replay(surroundings);
    try {
      const prepared = await replay.#policy.prepare(rules, surroundings.switches);
      replay.#policy.replace(prepared);
      return replay;
    } catch (error) {
      await replay.close();
      throw error;
    }
  }

  private constructor({ findTenant, regions, bounds = BOUNDS }: ReplayContext) {
    const now = () => this.#nowMs;
    // Nothing is waited for: what timers would do, such as sweeping, changes no decision.
    const clock: Clock = { now, wall: now, after: () => () => {} };
    const store = memoryStore(bounds);
    this.#store = store;
    const stores = regions === undefined ? { store } : { regions: regionsOver(store, regions) };
    this.#policy = createPolicy({ rules: NO_RULES, ...stores, durableStore: store, clock });
    if (findTenant !== undefined) this.#policy.describeTenants(findTenant);
  }

  /** Decides the next request; they have to come in the order of their times. */
  decide({ atMs, facts }: ReplaySample): MaybePromise<Replayed> {
    if (facts === null) return ALLOWED;
    const decided = this.admit(atMs, facts);
    return decided instanceof Promise
      ? decided.then((decision) => toReplayed(settled(decision)))
      : toReplayed(settled(decided as PolicyDecision));
  }

  /** The decision itself, which has to be settled if it is held. */
  admit(atMs: number, facts: Facts): MaybePromise<PolicyDecision> {
    this.#nowMs = Math.max(this.#nowMs, Math.floor(atMs));
    return this.#policy.admit(facts);
  }

  /** A plan for requests of this method and path; undefined if rules need more of a request. */
  planFor(facts: Facts): RequestPlan | undefined {
    const rules = this.#policy.plainRules;
    return rules === undefined ? undefined : RequestPlan.of(rules, facts, this.#plans);
  }

  /** A key for plans, of this replay and of those with the same seed. */
  print(key: string): PrintedKey {
    return this.#store.print(key);
  }

  /** Keys that were evicted while they were in use: what they had used is forgotten, as in a service of that size. */
  get evictions(): number {
    return this.#store.stats.evictions;
  }

  /** Charges that were refused because the memory for entries of sliding logs was full, as in a service of that size. */
  get arenaRefusals(): number {
    return this.#store.stats.arenaRefusals;
  }

  /** Forgets everything. */
  close(): Promise<void> {
    return this.#policy.close();
  }
}

/** Settles what a decision holds, by how its request ended; default: it is not known. */
export function settled(decision: PolicyDecision, end?: RequestEnd): PolicyDecision {
  if (decision.isHeld) void decision.finish(end);
  return decision;
}

/** Which rule refused, and by which key. */
export function toReplayed(decision: PolicyDecision): Replayed {
  if (decision.allowed) return ALLOWED;
  const { rule } = decision;
  let key: string | undefined;
  decision.eachCharge(({ id }, charge) => {
    if (id === rule && !charge.verdict.allowed) key ??= charge.key;
  });
  return { allowed: false, rule, key };
}
