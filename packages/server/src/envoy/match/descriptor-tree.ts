// The domains of all files, ready to be matched: trees of descriptors, in which a request's entries lead from
// level to level, and the counters of their limits. Counters that say the same as before a reload are the same.

import { type Counter, type FailurePolicy, fixedWindow, type Limit } from "sluice";
import { type DescriptorConfig, type DomainConfig, toComposite } from "../file/parse.js";
import type { LimitConfig } from "../file/rate-limit.js";
import {
  type CurrentLimit,
  type Descriptor,
  type DescriptorEntry,
  type JsonObject,
  UNIT_MS,
} from "../messages.js";
import { toBoundedKey, toKeyPart, toSharedPart } from "./keys.js";
import { toWildcard, type Wildcard } from "./wildcard.js";
import { WildcardSearch } from "./wildcard-search.js";

/** A limit that applies to a descriptor. */
export interface EnvoyRule {
  readonly kind: LimitConfig["kind"];
  /** Undefined unless `counted`. */
  readonly counter: Counter | undefined;
  readonly current: CurrentLimit;
  /** The length of its unit; 0 if it has none. */
  readonly unitMs: number;
  readonly replaces: readonly string[];
  readonly shadow: boolean;
  readonly isQuota: boolean;
  /** What answers carry while it passes. */
  readonly metadata: JsonObject | undefined;
  /** As metrics name it: the domain and each level of its file, `shop/tenant_gold/path`. */
  readonly label: string;
  /** The keys that it counts by: `tenant|path`. */
  readonly keyType: string;
}

/** What applies to a descriptor, and what it is counted by. */
export interface DescriptorMatch {
  readonly rule: EnvoyRule;
  readonly key: string;
}

/** One level of a tree. */
interface Level {
  readonly exact: ReadonlyMap<string, Level>;
  /** In the order of the file. */
  readonly wildcards: WildcardSearch;
  /** Where each of them leads. */
  readonly wildcardLevels: readonly Level[];
  readonly rule: EnvoyRule | undefined;
  /** The part that replaces every value that leads here in keys; undefined: the entry itself. */
  readonly sharedPart: string | undefined;
}

/** Limits of different numbers that requests may bring along; others are rounded down. */
const OVERRIDES_MAX = 4_096;
/** How many leading bits a rounded limit keeps. */
const BITS_KEPT = 4;

/** What rules are made with, besides what the files say. */
export interface EnvoyRulesOptions {
  /** The rules that these replace, made with the same options. */
  readonly before?: EnvoyRules | undefined;
  /** How long the store may take for a decision. Default: as long as its guard says. */
  readonly timeoutMs?: number | undefined;
}

/** All domains. */
export class EnvoyRules {
  readonly #domains = new Map<string, Level>();
  readonly #counters = new Map<string, Counter>();
  readonly #overrides: Map<string, EnvoyRule>;
  readonly #timeoutMs: number | undefined;

  constructor(domains: readonly DomainConfig[], { before, timeoutMs }: EnvoyRulesOptions = {}) {
    this.#overrides = before === undefined ? new Map() : before.#overrides;
    this.#timeoutMs = timeoutMs;
    for (const { domain, descriptors } of domains) {
      const path: Path = {
        label: domain,
        keyType: "",
        counterOf: (limit, policy) => this.#counter(domain, limit, policy, before),
      };
      const levels = toLevels(descriptors, path);
      this.#domains.set(domain, { ...levels, rule: undefined, sharedPart: undefined });
    }
  }

  /** How many domains there are. */
  get size(): number {
    return this.#domains.size;
  }

  /** The limits whose counters a store may get ready for. */
  get limits(): readonly Limit[] {
    return [...this.#counters.values()].map(({ limit }) => limit);
  }

  /** What applies to a descriptor; undefined if nothing does. Its `limit`, if it has one, must be valid. */
  match(domain: string, { entries, limit }: Descriptor): DescriptorMatch | undefined {
    const root = this.#domains.get(domain);
    if (root === undefined) return undefined;
    if (limit === undefined) return walk(root, entries);
    const rule = this.#override(domain, limit.requestsPerUnit, limit.unit);
    const { requestsPerUnit, unit } = rule.current;
    // Each limit counts apart: taking turns on one counter, the smaller would clip the use of the larger.
    const own = `|@${requestsPerUnit}/${unit}`;
    return { rule, key: toBoundedKey(entries.map(toPart).join("|") + own) };
  }

  #override(domain: string, requestsPerUnit: number, unit: number): EnvoyRule {
    const name = JSON.stringify([domain, requestsPerUnit, unit]);
    const known = this.#overrides.get(name);
    if (known !== undefined) return known;
    // A store has room for a bounded number of limits, and those of the files come first.
    const most =
      this.#overrides.size < OVERRIDES_MAX ? requestsPerUnit : roundDown(requestsPerUnit);
    if (most !== requestsPerUnit) return this.#override(domain, most, unit);
    const limit = most === 0 ? undefined : fixedWindow({ limit: most, windowMs: UNIT_MS[unit] });
    const counter = limit === undefined ? undefined : this.#toCounter(domain, limit);
    const rule = toOverride(domain, { requestsPerUnit: most, unit, name: "" }, counter);
    this.#overrides.set(name, rule);
    return rule;
  }

  #counter(
    domain: string,
    limit: Limit,
    onStoreFailure: FailurePolicy | undefined,
    before: EnvoyRules | undefined,
  ): Counter {
    const counter = this.#toCounter(domain, limit, onStoreFailure);
    const name = JSON.stringify(counter);
    const earlier = before === undefined ? undefined : before.#counters.get(name);
    const known = this.#counters.get(name) ?? earlier ?? counter;
    this.#counters.set(name, known);
    return known;
  }

  #toCounter(domain: string, limit: Limit, onStoreFailure?: FailurePolicy): Counter {
    const timeoutMs = this.#timeoutMs;
    return {
      scope: toScope(domain),
      part: 0,
      limit,
      ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
  }
}

/** Where the counters of a domain are kept. */
export function toScope(domain: string): string {
  return `envoy/${domain}`;
}

/** What a level of a tree hands down. */
interface Path {
  readonly label: string;
  readonly keyType: string;
  readonly counterOf: (limit: Limit, onStoreFailure?: FailurePolicy) => Counter;
}

function toLevels(
  descriptors: readonly DescriptorConfig[],
  { label, keyType, counterOf }: Path,
): Omit<Level, "rule" | "sharedPart"> {
  const exact = new Map<string, Level>();
  const wildcards: Wildcard[] = [];
  const wildcardLevels: Level[] = [];
  for (const descriptor of descriptors) {
    const composite = toComposite(descriptor.key, descriptor.value);
    const path: Path = {
      label: `${label}/${composite}`,
      keyType: keyType === "" ? descriptor.key : `${keyType}|${descriptor.key}`,
      counterOf,
    };
    const level: Level = {
      ...toLevels(descriptor.descriptors, path),
      rule: toRule(descriptor, path),
      sharedPart: descriptor.isShared ? toSharedPart(composite) : undefined,
    };
    exact.set(composite, level);
    const wildcard = toWildcard(composite);
    if (wildcard === undefined) continue;
    wildcards.push(wildcard);
    wildcardLevels.push(level);
  }
  return { exact, wildcards: new WildcardSearch(wildcards), wildcardLevels };
}

function toRule(descriptor: DescriptorConfig, path: Path): EnvoyRule | undefined {
  const { limit: config, shadow, isQuota, metadata } = descriptor;
  if (config === undefined) return undefined;
  const { kind, limit, current, replaces, onStoreFailure } = config;
  const { label, keyType, counterOf } = path;
  const counter = limit === undefined ? undefined : counterOf(limit, onStoreFailure);
  const unitMs = UNIT_MS[current.unit];
  const modes = { shadow, isQuota };
  return { kind, counter, current, unitMs, replaces, ...modes, metadata, label, keyType };
}

function toOverride(
  domain: string,
  current: CurrentLimit,
  counter: Counter | undefined,
): EnvoyRule {
  return {
    kind: counter === undefined ? "never" : "counted",
    counter,
    current,
    unitMs: UNIT_MS[current.unit],
    replaces: [],
    shadow: false,
    isQuota: false,
    metadata: undefined,
    // Its numbers and keys come with requests, which must not become labels.
    label: `${domain}/(request)`,
    keyType: "descriptor",
  };
}

function roundDown(units: number): number {
  const lost = Math.max(0, 32 - Math.clz32(units) - BITS_KEPT);
  return Math.floor(units / 2 ** lost) * 2 ** lost;
}

function walk(root: Level, entries: readonly DescriptorEntry[]): DescriptorMatch | undefined {
  let level = root;
  let key = "";
  for (const { key: name, value } of entries) {
    const next = step(level, name, value);
    if (next === undefined) return undefined;
    const part = next.sharedPart ?? toKeyPart(name, value);
    key = key === "" ? part : `${key}|${part}`;
    level = next;
  }
  return level.rule === undefined ? undefined : { rule: level.rule, key: toBoundedKey(key) };
}

/** The value as it is, then wildcards, then any value. */
function step(level: Level, name: string, value: string): Level | undefined {
  const { exact, wildcards, wildcardLevels } = level;
  const composite = `${name}_${value}`;
  const found = exact.get(composite);
  if (found !== undefined) return found;
  if (wildcardLevels.length === 0) return exact.get(name);
  return wildcardLevels[wildcards.find(composite)] ?? exact.get(name);
}

function toPart({ key, value }: DescriptorEntry): string {
  return toKeyPart(key, value);
}
