// What operators refuse before any rule is asked: callers that are blocked, and requests of rules whose switch is
// `deny`. A policy without either has none of this on the way of its requests.

import { wallMsOf } from "../../../base/clock.js";
import type { Facts } from "../../facts.js";
import { Matcher } from "../../match/matcher.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import type { Policy } from "../policy.js";
import type { PolicyDecision, RefusalCause } from "../policy-request/policy-decision.js";

/** A caller that is blocked. */
export interface CallerBlock {
  /** Why, in the operator's words. Not for clients. */
  readonly reason: string;
  /** When it ends, by the wall clock; Infinity if it does not. */
  readonly untilMs: number;
  /** Who is blocked, as the operator wrote it: `ip:203.0.113.0/24`. */
  readonly subject?: string | undefined;
}

/** Finds callers that are blocked. `callerBlocks` makes one from a list. */
export interface CallerBlocks {
  /** Whether a block may be about more than the address, so that callers have to be identified. */
  readonly needsIdentity: boolean;
  /**
   * The block that holds for a caller at a time of the wall clock; undefined if there is none. Called with what a
   * request shows and, if `needsIdentity`, again when the caller is known. Must be quick, and must not throw.
   */
  find(facts: Facts, wallMs: number): CallerBlock | undefined;
}

/** Refuses requests before any rule is asked. */
export class OperatorRefusals {
  readonly #isAllDenied: boolean;
  readonly #blocks: CallerBlocks | undefined;
  /** Rules whose switch is `deny`, by whether who the caller is decides if they match. */
  readonly #denied: Matcher<CompiledRule>;
  readonly #deniedLate: Matcher<CompiledRule>;

  /** Undefined if there is nothing to refuse. */
  static of(
    compiled: CompiledRules,
    blocks: CallerBlocks | undefined,
  ): OperatorRefusals | undefined {
    const denied = [...compiled.byId.values()].filter(({ switchedTo }) => switchedTo === "deny");
    const isAnyDenied = compiled.switchedTo === "deny" || denied.length > 0;
    if (!isAnyDenied && blocks === undefined) return undefined;
    return new OperatorRefusals(compiled.switchedTo === "deny", denied, blocks);
  }

  private constructor(
    isAllDenied: boolean,
    denied: readonly CompiledRule[],
    blocks: CallerBlocks | undefined,
  ) {
    this.#isAllDenied = isAllDenied;
    this.#blocks = blocks;
    this.#denied = new Matcher(denied.filter((rule) => !isByCaller(rule)));
    this.#deniedLate = new Matcher(denied.filter(isByCaller));
  }

  /** Whether requests may have to be identified. */
  get needsIdentity(): boolean {
    return this.#blocks?.needsIdentity === true || !this.#deniedLate.isEmpty;
  }

  /** Whether this request has to be, since what it shows is not enough. */
  needsIdentityOf(normalized: NormalizedRequest): boolean {
    return this.#blocks?.needsIdentity === true || this.#deniedLate.mayMatch(normalized);
  }

  /**
   * Why a request is refused; undefined if it is not, as far as is known.
   *
   * @param isKnown - Whether the facts are all that will ever be known.
   */
  find(normalized: NormalizedRequest, wallMs: number, isKnown: boolean): RefusalCause | undefined {
    if (this.#isAllDenied) return DENIED;
    const blocked = this.#blocks && findBlock(this.#blocks, normalized.facts, wallMs);
    if (blocked !== undefined) return blocked;
    const [rule] = this.#denied.match(normalized);
    const [found] = rule !== undefined || !isKnown ? [rule] : this.#deniedLate.match(normalized);
    return found === undefined ? undefined : { ...DENIED, rule: found.definition.id };
  }
}

/** Whether more than what a request shows decides if the rule matches. */
function isByCaller({ match }: CompiledRule): boolean {
  return match.attributes.size > 0;
}

const DENIED: RefusalCause = {
  reason: "denied",
  rule: undefined,
  retryAfterMs: Number.POSITIVE_INFINITY,
  block: undefined,
};

/**
 * The refusal of a caller that operators block, for requests that no rule decides; undefined if it is not blocked.
 *
 * @internal
 */
export function refuseBlocked(policy: Policy, facts: Facts): PolicyDecision | undefined {
  const { callerBlocks, clock } = policy;
  const cause = callerBlocks && findBlock(callerBlocks, facts, wallMsOf(clock));
  return cause && policy.refuse(cause);
}

function findBlock(blocks: CallerBlocks, facts: Facts, wallMs: number): RefusalCause | undefined {
  const block = blocks.find(facts, wallMs);
  if (block === undefined || block.untilMs <= wallMs) return undefined;
  return {
    reason: "blocked",
    rule: undefined,
    retryAfterMs: Math.max(1, Math.ceil(block.untilMs - wallMs)),
    block,
  };
}
