// A rule as it was read into the rule that the rest of the library knows.

import { as, type ReadFields, type Shape, type Spot } from "../../base/shapes/shapes.js";
import { type FixedWindowLimit, fixedWindow, type Limit } from "../../limits/limits.js";
import { type CidrList, toCidrList } from "../identity-keys/cidr.js";
import { toValue } from "../normalize/normalize-string.js";
import type { ClientField, ClientMatch, Exempt, Match, Rule } from "../rule.js";
import { checkRule, isSketch } from "./cross-checks.js";
import { toRuleKey, withRuleKeys } from "./rule-fields/keys.js";
import { type exemptFields, type matchFields, ruleFields } from "./rule-fields/rule-fields.js";
import { ruleReadingOf, sayError } from "./rule-reading.js";

type GivenRule = ReadFields<typeof ruleFields.fields>;
type GivenMatch = ReadFields<typeof matchFields.fields>;
/** `exempt` as it was read. */
export type GivenExempt = ReadFields<typeof exemptFields.fields>;

// Most rules have these, so they share them: an empty map takes as much memory as the rest of a rule's match.
const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>();
const NO_EXEMPTIONS: Exempt = { ips: undefined, ranges: [], keys: new Set() };

/** A rule, every default filled in, and checked for what its fields say together. */
export const rule: Shape<Rule> = as(ruleFields, toRule);

function toRule(given: GivenRule, spot: Spot): Rule | undefined {
  const problemCount = spot.problemCount;
  const toLimits = (limits: readonly Limit[]) =>
    given.windowJitter ? limits.map(withJitter) : limits;
  const made: Rule = {
    id: given.id,
    isEnabled: given.enabled,
    match: toMatch(given.match, spot.in("match")),
    key: given.key,
    onMissing: given.onMissing,
    limits: toLimits(given.limit),
    tiers: toEach(given.tiers, toLimits),
    overrides:
      given.overrides === undefined
        ? NO_ENTRIES
        : withRuleKeys(toEach(given.overrides, toLimits), given, spot.in("overrides")),
    cost: given.cost,
    settle: given.settle,
    when: given.when,
    onExceed: given.onExceed,
    ...(given.passUnits === undefined ? {} : { passUnits: given.passUnits }),
    delayMsMax: given.onExceed === "delay" ? (given.delayMsMax ?? 0) : 0,
    rolloutPercent: given.rollout,
    consistency: given.consistency ?? defaultConsistency(given),
    ...(given.across === "each" ? {} : { across: given.across }),
    ...toCare(given),
    ...(given.escalate === undefined ? {} : { escalate: given.escalate }),
    priority: given.priority,
    ...(given.requestPriority === undefined ? {} : { requestPriority: given.requestPriority }),
    isExposed: given.expose,
    shards: given.shards,
    exempt: toExempt(given.exempt, (text, at) => toRuleKey(text, given, at), spot.in("exempt")),
    place: ruleReadingOf(spot).placeOf(spot.path),
  };
  checkRule(made, given, spot);
  return spot.problemCount > problemCount ? undefined : made;
}

/** A sketch is counted in this process, whatever the store is. */
function defaultConsistency({ limit, tiers = NO_ENTRIES }: GivenRule): Rule["consistency"] {
  const all = [limit, ...tiers.values()];
  return all.some((list) => list.some(isSketch)) ? "local" : "strict";
}

/**
 * A ledger commits before it answers, and another region is far away: both take longer than a store nearby. What neither
 * can count is refused.
 */
const CARE_DEFAULTS = { onStoreFailure: "closed", timeoutMs: 1_000 } as const;

function toCare({
  across,
  durable,
  onStoreFailure,
  timeoutMs,
}: GivenRule): Pick<Rule, "durable" | "onStoreFailure" | "timeoutMs"> {
  const asksHome = across === "central" || across === "leased";
  const defaults = durable === false && !asksHome ? undefined : CARE_DEFAULTS;
  return {
    ...(durable === false ? {} : { durable }),
    onStoreFailure: onStoreFailure ?? defaults?.onStoreFailure,
    timeoutMs: timeoutMs ?? defaults?.timeoutMs,
  };
}

function toMatch(given: GivenMatch, spot: Spot): Match {
  const { path, methods, host, headers, attributes } = given;
  const client = toClientMatch(given, spot);
  return {
    paths: path ?? [],
    methods: methods ?? [],
    hosts: host ?? [],
    headers: headers ?? NO_ENTRIES,
    attributes: attributes ?? NO_ENTRIES,
    ...(client === undefined ? {} : { client }),
  };
}

/** What is asked of the client, by values as requests have them; undefined if nothing is. */
function toClientMatch(
  { ips, asn, country, fingerprint }: GivenMatch,
  spot: Spot,
): ClientMatch | undefined {
  const values = new Map<ClientField, readonly string[]>();
  if (asn !== undefined) values.set("asn", asn);
  if (country !== undefined) values.set("country", country);
  const software = fingerprint?.map(toValue).filter((value) => value !== undefined);
  if (software !== undefined) values.set("fingerprint", software);
  if (ips === undefined && values.size === 0) return undefined;
  const ranges = ips ?? [];
  return { ips: toRanges(ranges, spot.in("ips"), "match.ips"), ranges, values };
}

function toEach<T>(
  entries: ReadonlyMap<string, T> | undefined,
  toValue: (value: T) => T,
): ReadonlyMap<string, T> {
  if (entries === undefined) return NO_ENTRIES;
  return new Map([...entries].map(([name, value]) => [name, toValue(value)]));
}

/** Fixed windows aligned by key; no other limit has windows that start together for all keys. */
function withJitter(limit: Limit): Limit {
  return limit.algorithm === "fixedWindow" && limit.align === "epoch" ? alignByKey(limit) : limit;
}

function alignByKey({ capacity: limit, windowMs }: FixedWindowLimit): Limit {
  return fixedWindow({ limit, windowMs, align: "key" });
}

/** Who is exempt. `toKey` brings a key to the form in which it is counted, or reports what is wrong. */
export function toExempt(
  given: GivenExempt | undefined,
  toKey: (text: string, spot: Spot) => string | undefined,
  spot: Spot,
): Exempt {
  if (given === undefined) return NO_EXEMPTIONS;
  const ranges = given.ips ?? [];
  const keys = (given.keys ?? []).map((text, i) => toKey(text, spot.in("keys").in(i)));
  return {
    ips: toRanges(ranges, spot.in("ips"), "exempt.ips"),
    ranges,
    keys: new Set(keys.filter((key) => key !== undefined)),
  };
}

function toRanges(ranges: readonly string[], spot: Spot, name: string): CidrList | undefined {
  if (ranges.length === 0) return undefined;
  const good = ranges.filter((range, i) => isRange(range, spot.in(i), name));
  return toCidrList(good);
}

function isRange(range: string, spot: Spot, name: string): boolean {
  try {
    toCidrList([range], { name, code: "SLUICE_OPTION_INVALID" });
    return true;
  } catch (error) {
    sayError(spot, error, `${name}: `);
    return false;
  }
}
