// What a node has to enforce by its state besides the published rules: the exceptions that plans and overrides make of
// them, blocked callers and switches. Policies know these words; they know nothing of plans, tenants or databases.

import type { RuleException, SwitchStates } from "sluice/rules";
import type { EntityBody } from "./entities.js";
import { ALL_RULES, type Block, type Override, type Plan, type Switch, type Tenant } from "./kinds.js";
import type { ControlState } from "./state.js";
import { toSubject } from "./subjects.js";

/** Who is blocked, as policies take it. */
export interface BlockedSubject {
  /** `ip:203.0.113.0/24`, `tenant:acme`. */
  readonly subject: string;
  /** Undefined: until the block is removed. */
  readonly endsAtMs: number | undefined;
  readonly reason: string;
}

/** The exceptions that overrides and plans make. Overrides come first, and of several for one caller the oldest. */
export function exceptionsOf(state: ControlState): RuleException[] {
  const overrides = inOrder(state.all("override")).flatMap(({ body }) => toExceptions(as(body)));
  const plans = [...state.all("plan")].flatMap(({ id, body }) => planExceptions(id, as(body)));
  return [...overrides, ...plans];
}

/** The exception that an override makes. */
export function toExceptions({ subject, rule, limit, endsAtMs }: Override): RuleException[] {
  const caller = toSubject(subject);
  if (caller === undefined || caller.by === "ip") return [];
  return [{ ruleId: rule, by: caller.by, value: caller.value, limits: limit, endsAtMs }];
}

/** The exceptions that a plan makes. */
export function planExceptions(name: string, { limits }: Plan): RuleException[] {
  return Object.entries(limits).map(([ruleId, limit]) => ({
    ruleId,
    by: "plan",
    value: name,
    limits: limit,
  }));
}

/** Who is blocked by operators, and the tenants that are suspended. */
export function blockedSubjectsOf(state: ControlState): BlockedSubject[] {
  const blocked = [...state.all("block")].flatMap(({ body }) => {
    const { subjects, endsAtMs, reason } = as<Block>(body);
    return subjects.map((subject) => ({ subject, endsAtMs, reason }));
  });
  const suspended = [...state.all("tenant")]
    .filter(({ body }) => as<Tenant>(body).status === "suspended")
    .map(({ id }) => ({
      subject: `tenant:${id}`,
      endsAtMs: undefined,
      reason: "the tenant is suspended",
    }));
  return [...blocked, ...suspended];
}

/** The switches that are not on. */
export function switchesOf(state: ControlState): SwitchStates {
  const switches = [...state.all("switch")].map(({ id, body }) => ({
    rule: id,
    state: as<Switch>(body).state,
  }));
  return {
    all: switches.find(({ rule }) => rule === ALL_RULES)?.state ?? "on",
    rules: switches.filter(({ rule }) => rule !== ALL_RULES),
  };
}

function inOrder<T extends { readonly sequence: number }>(entities: Iterable<T>): T[] {
  return [...entities].sort((a, b) => a.sequence - b.sequence);
}

/** Bodies were checked when they were written. */
function as<T>(body: EntityBody): T {
  return body as T;
}
