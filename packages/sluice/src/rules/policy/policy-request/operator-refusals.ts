// Requests that operators refuse before any rule is asked: those of addresses in a denylist, those of blocked callers, and
// those that match a rule whose switch is `deny`; and those of addresses in an allowlist, which no rule counts. A policy
// without any of these skips this step.

import { type Clock, wallMsOf } from "../../../base/clock.js";
import type { Facts } from "../../facts.js";
import type { AddressLists } from "../../lists/address-lists.js";
import { Matcher } from "../../match/matcher.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import type { CallerBlocks } from "../operator/caller-blocks.js";
import type { PolicyDecision, RefusalCause } from "./policy-decision.js";

/** What a policy has to refuse blocked callers with. */
interface BlockingPolicy {
  readonly clock: Clock;
  readonly callerBlocks: CallerBlocks | undefined;
  readonly lists: AddressLists | undefined;
  refuse(cause: RefusalCause): PolicyDecision;
}

/** Refuses requests before any rule is asked. */
export class OperatorRefusals {
  readonly #isAllDenied: boolean;
  readonly #blocks: CallerBlocks | undefined;
  readonly #lists: AddressLists | undefined;
  /** Rules whose switch is `deny`, by whether who the caller is decides if they match. */
  readonly #denied: Matcher<CompiledRule>;
  readonly #deniedLate: Matcher<CompiledRule>;

  /** Undefined if there is nothing to refuse. */
  static of(
    compiled: CompiledRules,
    blocks: CallerBlocks | undefined,
    lists: AddressLists | undefined,
  ): OperatorRefusals | undefined {
    const denied = [...compiled.byId.values()].filter(({ switchedTo }) => switchedTo === "deny");
    const isAnyDenied = compiled.switchedTo === "deny" || denied.length > 0;
    if (!isAnyDenied && blocks === undefined && lists === undefined) return undefined;
    return new OperatorRefusals(compiled.switchedTo === "deny", denied, blocks, lists);
  }

  private constructor(
    isAllDenied: boolean,
    denied: readonly CompiledRule[],
    blocks: CallerBlocks | undefined,
    lists: AddressLists | undefined,
  ) {
    this.#lists = lists;
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

  /** Whether no rule counts the request, because its address is in the allowlist. */
  allows({ ip }: Facts): boolean {
    return this.#lists !== undefined && this.#lists.find(ip) === "allow";
  }

  /**
   * Why a request is refused; undefined if it is not, as far as is known.
   *
   * @param isKnown - Whether the facts are all that will ever be known.
   */
  find(normalized: NormalizedRequest, wallMs: number, isKnown: boolean): RefusalCause | undefined {
    if (this.#isAllDenied) return DENIED;
    if (this.#lists?.find(normalized.facts.ip) === "deny") return LISTED;
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

/** The address is in a denylist. */
const LISTED: RefusalCause = {
  reason: "blocked",
  rule: undefined,
  retryAfterMs: Number.POSITIVE_INFINITY,
  block: {
    reason: "its address is in a denylist",
    untilMs: Number.POSITIVE_INFINITY,
    list: "deny",
  },
};

/**
 * The refusal of a caller that operators block, for requests that no rule decides; undefined if it is not blocked.
 *
 * @internal
 */
export function refuseBlocked(policy: BlockingPolicy, facts: Facts): PolicyDecision | undefined {
  const { callerBlocks, lists, clock } = policy;
  if (lists?.find(facts.ip) === "deny") return policy.refuse(LISTED);
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
