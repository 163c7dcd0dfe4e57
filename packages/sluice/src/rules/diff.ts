// What a change of rules does: which rules come, go and change, and what becomes of what was used. A
// limit keeps its counters while its rule counts by the same key; under other numbers what was used
// carries over; another algorithm or key starts empty, and so does a tier, which counts apart.

import type { Limit } from "../limits/limits.js";
import { toMeaning } from "./parse/version.js";
import {
  countsTiersTogether,
  EXCEPTION_SUBJECTS,
  type ExceptionSubject,
  isInKey,
  type Rule,
  type RuleSet,
} from "./rule.js";

/** Kept as it is; used units carried over to other numbers; or reset to nothing used. */
export type CounterFate = "kept" | "carried" | "empty";

/** A limit whose counters don't stay as they are. */
export interface LimitDiff {
  /** Which: `limit`, `tiers.pro[1]`, `overrides.user:42`. */
  readonly where: string;
  readonly fate: CounterFate;
  /** In words: `other numbers`, `another algorithm`. */
  readonly why: string;
}

/** A rule that says something else than before. */
export interface RuleDiff {
  readonly id: string;
  /** The fields that changed, by the names that a file has for them. */
  readonly fields: readonly string[];
  /** What becomes of what was used: the worst of `limits`. */
  readonly counters: CounterFate;
  /** Limits that don't keep their counters as they are. */
  readonly limits: readonly LimitDiff[];
}

/** The difference between two sets of rules. */
export interface RulesDiff {
  readonly fromVersion: string;
  readonly toVersion: string;
  /** Fields of the whole set that changed, `rules` aside; `order` if only the order of rules did. */
  readonly fields: readonly string[];
  /** Ids in the order of the new rules. Their counters are empty, unless they were there once. */
  readonly added: readonly string[];
  /** Ids in the order of the old rules. */
  readonly removed: readonly string[];
  readonly changed: readonly RuleDiff[];
}

/** Compares two sets of rules. The same rule is the one with the same id. */
export function diffRules(before: RuleSet, after: RuleSet): RulesDiff {
  const old = new Map(before.rules.map((rule) => [rule.id, rule]));
  const isOtherPrefix = before.ipv6Prefix !== after.ipv6Prefix;
  const changed = after.rules.flatMap((rule) => {
    const was = old.get(rule.id);
    return was === undefined ? [] : diffRule(was, rule, isOtherPrefix);
  });
  return {
    fromVersion: before.version,
    toVersion: after.version,
    fields: diffSetFields(before, after),
    added: after.rules.filter(({ id }) => !old.has(id)).map(({ id }) => id),
    removed: removedIds(before, after),
    changed,
  };
}

/** The ids of the rules that only `before` has. Unlike all other differences they are found quickly. */
export function removedIds(before: RuleSet, after: RuleSet): readonly string[] {
  const ids = new Set(after.rules.map(({ id }) => id));
  return before.rules.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
}

function diffSetFields(before: RuleSet, after: RuleSet): readonly string[] {
  const fields: string[] = [];
  if (before.isEnabled !== after.isEnabled) fields.push("enabled");
  if (before.ipv6Prefix !== after.ipv6Prefix) fields.push("ipv6Prefix");
  if (toMeaning(before.exempt) !== toMeaning(after.exempt)) fields.push("exempt");
  const orderOf = (one: RuleSet, other: RuleSet) => {
    const common = new Set(other.rules.map(({ id }) => id));
    return one.rules.flatMap(({ id }) => (common.has(id) ? [id] : [])).join(" ");
  };
  if (orderOf(before, after) !== orderOf(after, before)) fields.push("order");
  return fields;
}

/** Where a rule has another name for a field than a file. */
const FIELD_NAMES: Readonly<Partial<Record<keyof Rule, string>>> = {
  isEnabled: "enabled",
  limits: "limit",
  rolloutPercent: "rollout",
  isExposed: "expose",
};

function diffRule(before: Rule, after: Rule, isOtherPrefix: boolean): readonly RuleDiff[] {
  const all = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof Rule)[]);
  const names = [...all].filter((name) => name !== "place");
  const fields = names
    .filter((name) => toMeaning(before[name]) !== toMeaning(after[name]))
    .map((name) => FIELD_NAMES[name] ?? name);
  const limits = diffLimits(before, after, isOtherPrefix);
  if (fields.length === 0 && limits.length === 0) return [];
  return [{ id: after.id, fields, counters: worstOf(limits), limits }];
}

function worstOf(limits: readonly LimitDiff[]): CounterFate {
  if (limits.some(({ fate }) => fate === "empty")) return "empty";
  return limits.length > 0 ? "carried" : "kept";
}

/** Some callers of a rule: whether they are counted apart from the others, and under which limits. */
interface Audience {
  readonly where: string;
  readonly isApart: (rule: Rule) => boolean;
  readonly limitsOf: (rule: Rule) => readonly Limit[];
}

function diffLimits(before: Rule, after: Rule, isOtherPrefix: boolean): readonly LimitDiff[] {
  const allEmpty = whyAllEmpty(before, after, isOtherPrefix);
  return toAudiences(before, after).flatMap(({ where, isApart, limitsOf }) => {
    const was = limitsOf(before);
    const is = limitsOf(after);
    const isElsewhere = isApart(before) !== isApart(after);
    return is.flatMap((limit, i): readonly LimitDiff[] => {
      const place = is.length === 1 ? where : `${where}[${i}]`;
      const empty =
        allEmpty ?? (isElsewhere ? "counted apart now, or no more" : whyEmpty(was[i], limit));
      if (empty !== undefined) return [{ where: place, fate: "empty", why: empty }];
      const why = whyCarried(before, was[i], after, limit);
      return why === undefined ? [] : [{ where: place, fate: "carried", why }];
    });
  });
}

/** All callers, those of each tier and each key of its own, of either rule. */
function toAudiences(before: Rule, after: Rule): readonly Audience[] {
  const tiers = new Set([...before.tiers.keys(), ...after.tiers.keys()]);
  const keys = new Set([...before.overrides.keys(), ...after.overrides.keys()]);
  return [
    { where: "limit", isApart: () => false, limitsOf: ({ limits }) => limits },
    ...[...tiers].map((tier) => ({
      where: `tiers.${tier}`,
      isApart: (rule: Rule) => rule.tiers.has(tier) && !countsTiersTogether(rule),
      limitsOf: (rule: Rule) => rule.tiers.get(tier) ?? rule.limits,
    })),
    ...[...keys].map((key) => ({
      where: `overrides.${key}`,
      isApart: () => false,
      limitsOf: (rule: Rule) => rule.overrides.get(key) ?? rule.limits,
    })),
    ...EXCEPTION_SUBJECTS.flatMap((by) => toExceptedAudiences(by, before, after)),
  ];
}

/** The callers of each exception of either rule, apart from those whose exceptions are the same. */
function toExceptedAudiences(by: ExceptionSubject, before: Rule, after: Rule): readonly Audience[] {
  const [was, is] = [before.exceptions?.get(by), after.exceptions?.get(by)];
  if (was === is && toMeaning(before.key) === toMeaning(after.key)) return [];
  const values = new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])]);
  const listOf = ({ exceptions }: Rule, value: string) => exceptions?.get(by)?.get(value);
  return [...values].map((value) => ({
    where: `exceptions.${by}:${value}`,
    isApart: (rule) => !isInKey(by, rule) && listOf(rule, value) !== undefined,
    limitsOf: (rule) => listOf(rule, value)?.[0].limits ?? rule.limits,
  }));
}

/** Why no counter of a rule can be found again, if so. */
function whyAllEmpty(before: Rule, after: Rule, isOtherPrefix: boolean): string | undefined {
  if (toMeaning(before.key) !== toMeaning(after.key)) return "another key";
  if (before.shards !== after.shards) return "another number of shards";
  const isElsewhere =
    (before.consistency === "local") !== (after.consistency === "local") ||
    (before.durable === undefined) !== (after.durable === undefined);
  if (isElsewhere) return "counted in another place";
  const isAtHome = ({ across }: Rule) => across === "central" || across === "leased";
  if (isAtHome(before) !== isAtHome(after)) return "counted in another region";
  const isByAddress = after.onMissing === "ip" || after.key.some(({ kind }) => kind === "ip");
  return isOtherPrefix && isByAddress ? "another IPv6 prefix, for callers over IPv6" : undefined;
}

function whyEmpty(before: Limit | undefined, after: Limit): string | undefined {
  if (before === undefined) return "a new limit";
  return before.algorithm === after.algorithm ? undefined : "another algorithm";
}

function whyCarried(
  before: Rule,
  limitBefore: Limit,
  after: Rule,
  limitAfter: Limit,
): string | undefined {
  if (toMeaning(limitBefore) !== toMeaning(limitAfter)) return "other numbers";
  if ((before.across === "split") !== (after.across === "split")) return "another share of it";
  // A rule that delays counts in a bucket that is larger by the longest delay.
  return before.delayMsMax === after.delayMsMax ? undefined : "another delay";
}
