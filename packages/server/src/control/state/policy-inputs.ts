// What the policies of a node take from its state: the published rules, the exceptions that follow from plans and
// overrides, blocked callers and switches. Policies know only these, and nothing of plans, tenants or databases.

import type { RuleException, SwitchStates, TenantProfile } from "sluice/rules";
import { nextTurn } from "../../base/clock.js";
import { readAhead } from "../../core/rules/known-rules.js";
import type { WrittenRules } from "../../core/rules-in-force.js";
import type { Entities, Entity, EntityBody } from "../changes/entity.js";
import type { Block } from "../entities/blocks.js";
import { overrideExceptions } from "../entities/overrides.js";
import { type Plan, planExceptions } from "../entities/plans.js";
import { toRulesText } from "../entities/rule-sets.js";
import { ALL_RULES, type Switch } from "../entities/switches.js";
import type { Tenant } from "../entities/tenants.js";
import type { ControlState, NodeChange, NodeEntity } from "./state.js";

/** A blocked caller, as policies take it. */
export interface BlockedSubject {
  /** `ip:203.0.113.0/24`, `tenant:acme`. */
  readonly subject: string;
  /** Undefined: until the block is removed. */
  readonly endsAtMs: number | undefined;
  readonly reason: string;
}

/** Overrides that are read before others have their turn: a millisecond or two. */
const OVERRIDES_A_SLICE = 2_000;

const NO_RULES: WrittenRules = { inline: { version: 1, rules: [] } };

/** The published rules as they were written; no rules if none are published. */
export function publishedRules(state: ControlState): WrittenRules {
  for (const { id, body } of state.all("rule-set")) {
    if (body.status !== "published") continue;
    return toRulesText({ number: Number(id), text: String(body.text) });
  }
  return NO_RULES;
}

/** Long rules among what a node is about to apply are read ahead, so that decisions don't wait. Never rejects. */
export async function readRulesAhead(written: Iterable<NodeChange | NodeEntity>): Promise<void> {
  for (const each of written) {
    if (each.kind !== "rule-set") continue;
    const [id, body] = "body" in each ? [each.id, each.body] : [each.entityId, each.after];
    if (body?.status !== "published") continue;
    const rules = toRulesText({ number: Number(id), text: String(body.text) });
    // What is wrong with them is reported when they are to come into force.
    await readAhead(rules).catch(() => {});
  }
}

/** The exceptions that overrides and plans make. Overrides come first, and of several for one caller the oldest. */
export function exceptionsOf(state: ControlState): RuleException[] {
  return toExceptions(state.all("override"), state.all("plan"));
}

/** The same, with turns for others between some thousand of them. What changes meanwhile may be in them or not. */
export async function exceptionsInSlices(state: ControlState): Promise<RuleException[]> {
  const exceptions: RuleException[] = [];
  let count = 0;
  for (const { body } of inOrder(state.all("override"))) {
    exceptions.push(...overrideExceptions(as(body)));
    if (++count % OVERRIDES_A_SLICE === 0) await nextTurn();
  }
  return [...exceptions, ...toExceptions([], state.all("plan"))];
}

/** The same, out of the database. */
export async function readExceptions(entities: Entities): Promise<RuleException[]> {
  const [overrides, plans] = [await entities.all("override"), await entities.all("plan")];
  return toExceptions(overrides, plans);
}

/** What rules know of a tenant: its plan, the tier of that plan, attributes and calendar. Undefined if there is no such tenant. */
export function tenantProfileOf(state: ControlState, id: string): TenantProfile | undefined {
  const body = state.find("tenant", id);
  if (body === undefined) return undefined;
  const { plan, attributes, timeZone, billingAnchor } = as<Tenant>(body);
  const planBody = plan === undefined ? undefined : state.find("plan", plan);
  const hasAttributes = Object.keys(attributes ?? {}).length > 0;
  return {
    plan,
    tier: planBody === undefined ? undefined : as<Plan>(planBody).tier,
    attributes: hasAttributes ? attributes : undefined,
    timeZone,
    billingAnchor,
  };
}

/** The callers that operators blocked, and the tenants that are suspended. */
export function blockedSubjectsOf(state: ControlState): BlockedSubject[] {
  const blocked = [...state.all("block")].flatMap(({ body }) => {
    const { subjects, endsAtMs, reason } = as<Block>(body);
    return subjects.map((subject) => ({ subject, endsAtMs, reason }));
  });
  const suspended = suspendedTenantsOf(state).map((id) => ({
    subject: `tenant:${id}`,
    endsAtMs: undefined,
    reason: "the tenant is suspended",
  }));
  return [...blocked, ...suspended];
}

/** The ids of the tenants that are suspended. */
export function suspendedTenantsOf(state: ControlState): string[] {
  return [...state.all("tenant")]
    .filter(({ body }) => as<Tenant>(body).status === "suspended")
    .map(({ id }) => id);
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

type Written = Pick<Entity, "id" | "sequence" | "body">;

function toExceptions(overrides: Iterable<Written>, plans: Iterable<Written>): RuleException[] {
  return [
    ...inOrder(overrides).flatMap(({ body }) => overrideExceptions(as(body))),
    ...[...plans].flatMap(({ id, body }) => planExceptions(id, as(body))),
  ];
}

function inOrder<T extends { readonly sequence: number }>(entities: Iterable<T>): T[] {
  return [...entities].sort((a, b) => a.sequence - b.sequence);
}

/** Bodies were checked when they were written. */
function as<T>(body: EntityBody): T {
  return body as T;
}
