// What is counted of each rule: plain numbers, found by the rule's id. At most so many rules have numbers
// of their own; what comes beyond is counted together, so that a rule set can't flood a monitoring system.

import type { RefusalReason, Rule } from "sluice/rules";

/** So many rules are told apart as values of the label `rule`; those beyond are `other`. */
export const RULE_LABELS_MAX = 1_000;

/** The value of `rule` for all that have no meter of their own. */
export const OTHER_RULES = "other";

const ENDPOINT_CHARS_MAX = 120;

/** The numbers of one rule since the process started, or since the rule was last new. */
export class RuleMeter {
  readonly rule: string;
  /** The patterns of paths that the rule is about; `*` if it is about all. Never a path of a request. */
  readonly endpoint: string;
  readonly keyType: string;
  allowed = 0;
  delayed = 0;
  readonly blocked: Record<RefusalReason, number> = { limit: 0, identity: 0, store: 0 };
  shadowAllowed = 0;
  shadowBlocked = 0;
  hotKeys = 0;

  constructor(rule: string, endpoint: string, keyType: string) {
    this.rule = rule;
    this.endpoint = endpoint;
    this.keyType = keyType;
  }
}

/** The meters of all rules that were seen. */
export class RuleMeters {
  readonly #byId = new Map<string, RuleMeter>();
  readonly #others = new RuleMeter(OTHER_RULES, "*", OTHER_RULES);

  /** The meter of a rule, made at its first decision. */
  of(rule: Rule): RuleMeter {
    return this.#byId.get(rule.id) ?? this.#make(rule);
  }

  /** The meter of an id; undefined if the rule was not seen yet or is one of many. */
  find(ruleId: string): RuleMeter | undefined {
    return this.#byId.get(ruleId);
  }

  /** Forgets rules that are gone. */
  remove(ruleIds: Iterable<string>): void {
    for (const id of ruleIds) this.#byId.delete(id);
  }

  /** Every meter, and that of all others once it is needed. */
  *[Symbol.iterator](): Generator<RuleMeter> {
    yield* this.#byId.values();
    if (this.#byId.size >= RULE_LABELS_MAX) yield this.#others;
  }

  #make(rule: Rule): RuleMeter {
    if (this.#byId.size >= RULE_LABELS_MAX) return this.#others;
    const meter = new RuleMeter(rule.id, toEndpoint(rule), toKeyType(rule));
    this.#byId.set(rule.id, meter);
    return meter;
  }
}

function toEndpoint({ match }: Rule): string {
  const text = match.paths.length === 0 ? "*" : match.paths.join(",");
  return text.length <= ENDPOINT_CHARS_MAX ? text : `${text.slice(0, ENDPOINT_CHARS_MAX)}…`;
}

/** What a rule counts by, as decisions name it: `ip`, `tenant|user`, `header:x-plan`, `subnet:24/48`. */
export function toKeyType({ key }: Rule): string {
  return key
    .map((dimension) => {
      if (dimension.kind === "subnet") return `subnet:${dimension.ipv4}/${dimension.ipv6}`;
      return "name" in dimension ? `${dimension.kind}:${dimension.name}` : dimension.kind;
    })
    .join("|");
}
