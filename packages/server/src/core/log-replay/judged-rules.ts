// Which rules an access log can judge. A rule that needs what lines don't have is left out, since deciding without it
// would be wrong; one that lines judge in part is decided, and the report says what is missing.

import type { ClientField, Cost, Dimension, Rule, RuleSet } from "sluice/rules";
import type { FormatFacts } from "../../access-logs/log-format.js";
import { namedFactsOf } from "../../telemetry/samples/fact-names.js";
import { spanOf } from "../replay/unjudged-rules.js";

/** What a report says of a rule that is not judged, or only in part. */
export interface RuleNote {
  readonly rule: string;
  /** Whether the rule was left out. */
  readonly isLeftOut: boolean;
  readonly why: string;
}

/** Rules that a log can judge, and what is to be said of the others. */
export interface JudgedRules {
  readonly rules: RuleSet;
  readonly notes: readonly RuleNote[];
}

/** The rules that lines with these facts can judge. */
export function judgedRules(set: RuleSet, facts: FormatFacts): JudgedRules {
  const kept: Rule[] = [];
  const notes: RuleNote[] = [];
  for (const rule of set.rules) {
    const why = whyLeftOut(rule, facts);
    if (why !== undefined) {
      notes.push({ rule: rule.id, isLeftOut: true, why });
      continue;
    }
    for (const each of partly(rule, facts))
      notes.push({ rule: rule.id, isLeftOut: false, why: each });
    kept.push(inOneRegion(rule));
  }
  return { rules: { ...set, rules: kept }, notes };
}

/** What is missing in lines once all were read. */
export function notesOnSpan({ rules }: RuleSet, spanMs: number): RuleNote[] {
  return rules
    .filter(({ limits }) => limits.some((limit) => spanOf(limit) > spanMs))
    .map(({ id }) => ({
      rule: id,
      isLeftOut: false,
      why: "it counts over a longer time than the log covers, and starts with nothing used",
    }));
}

/** Names of facts that a log may never have named, and the rules that count by them. */
export function notesOnUnseen({ rules }: RuleSet, seen: ReadonlySet<string>): RuleNote[] {
  return rules.flatMap(({ id, key, onMissing }) =>
    key
      .filter(
        ({ kind }) =>
          (kind === "user" || kind === "tenant" || kind === "apiKey") && !seen.has(kind),
      )
      .map(({ kind }) => ({
        rule: id,
        isLeftOut: false,
        why: `no line names ${WORDS[kind] ?? kind}, so ${MISSING[onMissing]}`,
      })),
  );
}

const WORDS: Readonly<Partial<Record<Dimension["kind"], string>>> = {
  user: "a user",
  tenant: "a tenant",
  apiKey: "an API key",
};

const MISSING = {
  ip: "every request was counted by its address",
  skip: "no request was counted",
  refuse: "every request was refused",
} as const;

function whyLeftOut(rule: Rule, facts: FormatFacts): string | undefined {
  const unknown = missingName(rule, facts) ?? missingCost(rule.cost, facts);
  if (unknown !== undefined) return `lines of this log have no ${unknown}`;
  if (rule.match.hosts.length > 0 && !facts.host) return "lines of this log have no host";
  for (const { kind } of rule.key) {
    if (kind === "user" && !facts.user) return "lines of this log name no user";
    if (kind === "tenant" && !facts.tenant) return "lines of this log name no tenant";
    if (kind === "apiKey" && !facts.apiKey) return "lines of this log name no API key";
    if (isClientField(kind)) return whyUnknown(kind);
  }
  const [field] = rule.match.client?.values.keys() ?? [];
  if (field !== undefined) return whyUnknown(field);
  for (const name of ["user", "tenant", "tier"] as const)
    if (rule.match.attributes.has(name) && !facts[name]) return `lines of this log name no ${name}`;
  if (rule.when !== undefined && !facts.status) return "lines of this log have no status";
  if (rule.limits.length > 0 && rule.limits.every(({ algorithm }) => algorithm === "concurrency"))
    return "a log does not say which requests were under way at the same time";
  return undefined;
}

function isClientField(kind: Dimension["kind"]): kind is ClientField {
  return kind === "asn" || kind === "country" || kind === "fingerprint";
}

/** A service looks networks up in a database, and gets fingerprints from a proxy. */
function whyUnknown(field: ClientField): string {
  return `lines of this log don't say the ${CLIENT_FIELDS[field]} of the client`;
}

const CLIENT_FIELDS: Readonly<Record<ClientField, string>> = {
  asn: "autonomous system",
  country: "country",
  fingerprint: "fingerprint",
};

function missingName(rule: Rule, facts: FormatFacts): string | undefined {
  for (const { kind, name } of namedFactsOf(rule)) {
    if (kind === "body") return `body field ${name}`;
    if (kind === "cookie") return `cookie ${name}`;
    if (kind === "header" && !hasName(facts.headers, name)) return `header ${name}`;
    if (kind === "attribute" && !hasName(facts.attributes, name)) return `attribute ${name}`;
  }
  return undefined;
}

function missingCost(cost: Cost, facts: FormatFacts): string | undefined {
  if (cost.kind === "header" && !hasName(facts.headers, cost.name))
    return `header ${cost.name}, which has the cost of a request`;
  if (cost.kind === "json") return "body, which has the cost of a request";
  return cost.kind === "function" ? "cost, which a function in code computes" : undefined;
}

function hasName(names: ReadonlySet<string> | "any", name: string): boolean {
  return names === "any" || names.has(name);
}

function* partly(rule: Rule, facts: FormatFacts): Generator<string> {
  if (rule.limits.some(({ algorithm }) => algorithm === "concurrency"))
    yield "a log does not say which requests were under way at the same time, so only its other limits are judged";
  if (rule.tiers.size > 0 && !facts.tier)
    yield "lines of this log name no tier, so every caller has the rule's own limit";
  if (rule.when !== undefined)
    yield "the log says immediately whether a response counts, so nothing is reserved in the meantime";
  if (rule.settle !== undefined && !(rule.settle.kind === "bytes" && facts.bodyBytes))
    yield "lines of this log don't say what requests cost in the end, so each counts as it was estimated";
  if (rule.across !== undefined)
    yield "it is judged as in one region, with all requests of the log";
}

/** Without what needs several regions: the log has the requests of all of them, or of one. */
function inOneRegion(rule: Rule): Rule {
  if (rule.across === undefined) return rule;
  const { across: _, ...others } = rule;
  return others;
}
