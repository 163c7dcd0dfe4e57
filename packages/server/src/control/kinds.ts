// What operators write besides rules and keys: plans, tenants, overrides, blocks and switches.

import {
  nearestName,
  parseRules,
  type RuleException,
  type RuleSet,
  RulesError,
  withExceptions,
} from "sluice/rules";
import {
  anyString,
  choice,
  either,
  finiteNumber,
  listOf,
  object,
  optional,
  type ReadAs,
  recordOf,
  required,
  type Shape,
  stringFor,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { ServerError, show } from "../base/errors.js";
import type { CollectionKind } from "./collection.js";
import type { Entities, Entity } from "./entities.js";
import { entityName, timeMs } from "./entity-shapes.js";
import { limitInput } from "./limit-input.js";
import { publishedTextOf } from "./rule-sets.js";
import { anySubject, callerSubject, toSubject } from "./subjects.js";

const RULES_MAX = 1_000;
const ATTRIBUTES_MAX = 50;
const SUBJECTS_MAX = 10_000;
const REASON_LENGTH_MAX = 1_000;
/** What policies take of all blocks, and of all overrides and plans: with one more, none of them would come into force. */
const SUBJECTS_IN_ALL_MAX = 1_000_000;
const EXCEPTIONS_MAX = 100_000;

const endsAtMs = optional(
  timeMs,
  "Until when it holds, in Unix milliseconds. Default: until it is removed.",
);
const reason = required(anyString(REASON_LENGTH_MAX), "Why, for people.");

const ruleId: Shape<string> = stringFor({
  what: "the id of a rule",
  lengthMax: 256,
  toValue: (id) => (/^[\w.-]+$/.test(id) ? id : undefined),
});

const timeZone: Shape<string> = stringFor({
  what: "an IANA time zone such as Europe/Paris",
  lengthMax: 100,
  toValue: (name) => (isTimeZone(name) ? name : undefined),
});

const billingAnchor: Shape<number | string> = either("a day of the month or a local date", [
  { fits: (value) => typeof value === "number", shape: wholeNumber({ min: 1, max: 31 }) },
  {
    fits: () => true,
    shape: stringFor<number | string>({
      what: "a day of the month from 1 to 31, or a local date such as 2024-01-31 or 2024-01-31T09:30",
      pattern: "^\\d{4}-\\d{2}-\\d{2}",
      lengthMax: 19,
      toValue: (date) => (isLocalDate(date) ? date : undefined),
    }),
  },
]);

const attribute: Shape<string | number> = either("a string or a number", [
  { fits: (value) => typeof value === "number", shape: finiteNumber },
  { fits: () => true, shape: anyString(1_000, 0) as Shape<string | number> },
]);

/** What tenants pay for: the tier that rules know, and other limits where the plan has its own. */
export const planShape = object({
  tier: optional(entityName, "The tier of rules that the plan stands for. Default: none."),
  limits: withDefault(
    recordOf(ruleId, limitInput, { countMin: 0, countMax: RULES_MAX }),
    {},
    "Limits by the id of a rule, instead of those of the tier.",
  ),
});

/** A customer. */
export const tenantShape = object({
  name: optional(anyString(200), "For people."),
  plan: optional(entityName, "Its plan. Default: none, so that the limits of the rules hold."),
  timeZone: withDefault(timeZone, "UTC", "Where its days and months begin."),
  billingAnchor: withDefault(billingAnchor, 1, "When its months begin."),
  attributes: withDefault(
    recordOf(entityName, attribute, { countMin: 0, countMax: ATTRIBUTES_MAX }),
    {},
    "Attributes that its requests have, for rules.",
  ),
  status: withDefault(
    choice(["active", "suspended"]),
    "active",
    "Requests of a suspended tenant are refused.",
  ),
});

/** Other numbers for one caller under one rule. */
export const overrideShape = object({
  subject: required(callerSubject, "Whom it is for."),
  rule: required(ruleId, "Under which rule."),
  limit: required(limitInput, "Instead of the limits of the rule, the tier and the plan."),
  endsAtMs,
  reason,
});

/** Callers and addresses that are refused, whatever the rules say. */
export const blockShape = object({
  subjects: required(listOf(anySubject, { countMax: SUBJECTS_MAX }), "Who is blocked."),
  endsAtMs,
  reason,
});

/** A kill switch. */
export const switchShape = object({
  state: required(
    choice(["off", "deny"]),
    "`off` lets requests pass the rule uncounted, `deny` refuses those that match it.",
  ),
  reason,
});

/** A plan. */
export type Plan = ReadAs<typeof planShape>;
/** A tenant. */
export type Tenant = ReadAs<typeof tenantShape>;
/** An override. */
export type Override = ReadAs<typeof overrideShape>;
/** A block. */
export type Block = ReadAs<typeof blockShape>;
/** A switch. */
export type Switch = ReadAs<typeof switchShape>;

/** The id of the switch for all rules. */
export const ALL_RULES = "*";

/** Plans, by name. */
export const plans: CollectionKind<Plan> = {
  kind: "plan",
  noun: "plan",
  shape: planShape,
  check: ({ id, body }, entities) =>
    mustFit(entities, { kind: "plan", id }, planExceptions(id, body)),
  checkRemoval: async (id, entities) => {
    const [tenant] = await entities.list("tenant", { parent: id, limit: 1 });
    if (tenant === undefined) return;
    throw conflict(
      `tenant ${show(tenant.id)} is on the plan; move its tenants to another plan first`,
    );
  },
};

/** Tenants, by id. */
export const tenants: CollectionKind<Tenant> = {
  kind: "tenant",
  noun: "tenant",
  shape: tenantShape,
  parentOf: ({ plan }) => plan,
  check: async ({ body: { plan } }, entities) => {
    if (plan === undefined || (await entities.find("plan", plan)) !== undefined) return;
    const names = (await entities.list("plan", { limit: RULES_MAX })).map(({ id }) => id);
    throw invalid(`plan must be the name of a plan, got ${show(plan)}${hint(plan, names)}`);
  },
  checkRemoval: async (id, entities) => {
    const [key] = await entities.list("api-key", { parent: id, limit: 1 });
    if (key === undefined) return;
    throw conflict("the tenant has API keys; revoke them first, or suspend the tenant");
  },
};

/** Overrides, listed by the caller that they are for. */
export const overrides: CollectionKind<Override> = {
  kind: "override",
  noun: "override",
  shape: overrideShape,
  parentOf: ({ subject }) => subject,
  check: ({ id, body }, entities) =>
    mustFit(entities, { kind: "override", id }, overrideExceptions(body)),
};

/** Blocks. */
export const blocks: CollectionKind<Block> = {
  kind: "block",
  noun: "block",
  shape: blockShape,
  check: async ({ id, body }, entities) => {
    const others = (await entities.all("block")).filter((block) => block.id !== id);
    const counts = others.map((block) => (block.body as unknown as Block).subjects.length);
    const count = counts.reduce((sum, each) => sum + each, body.subjects.length);
    if (count <= SUBJECTS_IN_ALL_MAX) return;
    throw conflict(`${count} subjects would be blocked, at most ${SUBJECTS_IN_ALL_MAX} can be`);
  },
};

/** Switches, by the rule that they are for. */
export const switches: CollectionKind<Switch> = {
  kind: "switch",
  noun: "switch",
  shape: switchShape,
  id: stringFor({
    what: "the id of a rule, or * for all rules",
    lengthMax: 256,
    toValue: (id) => (id === ALL_RULES || /^[\w.-]+$/.test(id) ? id : undefined),
  }),
  check: async ({ id }, entities) => {
    if (id !== ALL_RULES) mustHaveRule(await publishedRules(entities), id);
  },
};

/** The exceptions that an override makes. */
export function overrideExceptions({ subject, rule, limit, endsAtMs }: Override): RuleException[] {
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

/** A misspelt rule would otherwise change nothing, silently, and a limit that does not fit it would stop a publish. */
async function mustFit(
  entities: Entities,
  written: Pick<Entity, "kind" | "id">,
  exceptions: readonly RuleException[],
): Promise<void> {
  if (exceptions.length === 0) return;
  const count = (await countOthers(entities, written)) + exceptions.length;
  if (count > EXCEPTIONS_MAX) {
    const seen = `overrides and plans would have ${count} limits, at most ${EXCEPTIONS_MAX} can be in force`;
    throw conflict(`${seen}; remove overrides that have ended`);
  }
  const rules = await publishedRules(entities);
  for (const { ruleId } of exceptions) mustHaveRule(rules, ruleId);
  try {
    withExceptions(rules, exceptions);
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    throw invalid(error.problems.map(({ message }) => message).join("; "));
  }
}

/** The exceptions that all other overrides and plans make. */
async function countOthers(
  entities: Entities,
  { kind, id }: Pick<Entity, "kind" | "id">,
): Promise<number> {
  const isReplaced = kind === "override" && (await entities.find(kind, id)) !== undefined;
  const others = (await entities.all("plan")).filter((plan) => kind !== "plan" || plan.id !== id);
  const counts = others.map(({ body }) => Object.keys((body as unknown as Plan).limits).length);
  const overrides = (await entities.count("override")) - (isReplaced ? 1 : 0);
  return counts.reduce((sum, each) => sum + each, overrides);
}

function mustHaveRule({ rules }: RuleSet, ruleId: string): void {
  const ids = rules.map(({ id }) => id);
  if (ids.includes(ruleId)) return;
  throw invalid(`no published rule has the id ${show(ruleId)}${hint(ruleId, ids)}`);
}

async function publishedRules(entities: Entities): Promise<RuleSet> {
  return parseRules((await publishedTextOf(entities)) ?? NO_RULES);
}

const NO_RULES = { version: 1, rules: [] };

function hint(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const LOCAL_DATE = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2})?)?$/;

function isLocalDate(date: string): boolean {
  const [, year, month, day] = LOCAL_DATE.exec(date) ?? [];
  const instant = Date.parse(`${date.length === 10 ? `${date}T00:00` : date}Z`);
  if (day === undefined || Number.isNaN(instant)) return false;
  // 31 April parses as 1 May.
  return new Date(instant).toISOString().startsWith(`${year}-${month}-${day}`);
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}

function conflict(seen: string): ServerError {
  return new ServerError("SLUICE_CONFLICT", seen);
}
