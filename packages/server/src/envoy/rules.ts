// The domains of all files, ready to be matched: trees of descriptors, in which a request's entries lead from
// level to level, and the counters of their limits. Counters that say the same as before a reload are the same.

import { type Counter, type FailurePolicy, fixedWindow, type Limit } from "sluice";
import type { LimitConfig } from "./file/limit.js";
import { type DescriptorConfig, type DomainConfig, toComposite } from "./file/parse.js";
import { toBoundedKey, toKeyPart, toSharedPart } from "./keys.js";
import { type CurrentLimit, type Descriptor, type Entry, UNIT_MS } from "./messages.js";

/** A limit that applies to a descriptor. */
export interface EnvoyRule {
  readonly kind: LimitConfig["kind"];
  /** Undefined unless `counted`. */
  readonly counter: Counter | undefined;
  readonly current: CurrentLimit;
  /** The length of its unit; 0 if it has none. */
  readonly unitMs: number;
  readonly replaces: readonly string[];
  readonly isShadow: boolean;
  readonly isQuota: boolean;
}

/** What applies to a descriptor, and what it is counted by. */
export interface Match {
  readonly rule: EnvoyRule;
  readonly key: string;
}

/** One level of a tree. */
interface Level {
  readonly exact: ReadonlyMap<string, Level>;
  /** In the order of the file. */
  readonly wildcards: readonly { readonly prefix: string; readonly level: Level }[];
  readonly rule: EnvoyRule | undefined;
  /** What stands in keys for every value that leads here; undefined: the entry itself. */
  readonly sharedPart: string | undefined;
}

/** Limits of different numbers that requests may bring along; others are rounded down. */
const OVERRIDES_MAX = 4_096;
/** How many leading bits a rounded limit keeps. */
const BITS_KEPT = 4;

/** All domains. */
export class EnvoyRules {
  readonly #domains = new Map<string, Level>();
  readonly #counters = new Map<string, Counter>();
  readonly #overrides: Map<string, EnvoyRule>;

  /** @param before - The rules that these replace. */
  constructor(domains: readonly DomainConfig[], before?: EnvoyRules) {
    for (const { domain, descriptors } of domains) {
      const toCounter = (limit: Limit, onStoreFailure?: FailurePolicy) =>
        this.#counter(domain, limit, onStoreFailure, before);
      this.#domains.set(domain, {
        ...toLevels(descriptors, toCounter),
        rule: undefined,
        sharedPart: undefined,
      });
    }
    this.#overrides = before === undefined ? new Map() : before.#overrides;
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
  match(domain: string, { entries, limit }: Descriptor): Match | undefined {
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
    // A store tells so many limits apart, and those of the files must find room.
    const most =
      this.#overrides.size < OVERRIDES_MAX ? requestsPerUnit : roundDown(requestsPerUnit);
    if (most !== requestsPerUnit) return this.#override(domain, most, unit);
    const rule = toOverride(domain, most, unit);
    this.#overrides.set(name, rule);
    return rule;
  }

  #counter(
    domain: string,
    limit: Limit,
    onStoreFailure: FailurePolicy | undefined,
    before: EnvoyRules | undefined,
  ): Counter {
    const counter = { ...toCounter(domain, limit), ...(onStoreFailure && { onStoreFailure }) };
    const name = JSON.stringify(counter);
    const earlier = before === undefined ? undefined : before.#counters.get(name);
    const known = this.#counters.get(name) ?? earlier ?? counter;
    this.#counters.set(name, known);
    return known;
  }
}

/** Where the counters of a domain are kept. */
export function toScope(domain: string): string {
  return `envoy/${domain}`;
}

function toCounter(domain: string, limit: Limit): Counter {
  return { scope: toScope(domain), part: 0, limit };
}

type ToCounter = (limit: Limit, onStoreFailure?: FailurePolicy) => Counter;

function toLevels(
  descriptors: readonly DescriptorConfig[],
  toCounterOf: ToCounter,
): Pick<Level, "exact" | "wildcards"> {
  const exact = new Map<string, Level>();
  const wildcards: { prefix: string; level: Level }[] = [];
  for (const descriptor of descriptors) {
    const composite = toComposite(descriptor.key, descriptor.value);
    const level: Level = {
      ...toLevels(descriptor.descriptors, toCounterOf),
      rule: toRule(descriptor, toCounterOf),
      sharedPart: descriptor.isShared ? toSharedPart(composite) : undefined,
    };
    exact.set(composite, level);
    if (composite.endsWith("*")) wildcards.push({ prefix: composite.slice(0, -1), level });
  }
  return { exact, wildcards };
}

function toRule(descriptor: DescriptorConfig, toCounterOf: ToCounter): EnvoyRule | undefined {
  const { limit: config, isShadow, isQuota } = descriptor;
  if (config === undefined) return undefined;
  const { kind, limit, current, replaces, onStoreFailure } = config;
  const counter = limit === undefined ? undefined : toCounterOf(limit, onStoreFailure);
  return { kind, counter, current, unitMs: UNIT_MS[current.unit], replaces, isShadow, isQuota };
}

function toOverride(domain: string, requestsPerUnit: number, unit: number): EnvoyRule {
  const unitMs = UNIT_MS[unit];
  const isNever = requestsPerUnit === 0;
  return {
    kind: isNever ? "never" : "counted",
    counter: isNever
      ? undefined
      : toCounter(domain, fixedWindow({ limit: requestsPerUnit, windowMs: unitMs })),
    current: { requestsPerUnit, unit, name: "" },
    unitMs,
    replaces: [],
    isShadow: false,
    isQuota: false,
  };
}

function roundDown(units: number): number {
  const lost = Math.max(0, 32 - Math.clz32(units) - BITS_KEPT);
  return Math.floor(units / 2 ** lost) * 2 ** lost;
}

function walk(root: Level, entries: readonly Entry[]): Match | undefined {
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
function step({ exact, wildcards }: Level, name: string, value: string): Level | undefined {
  const composite = `${name}_${value}`;
  const found = exact.get(composite);
  if (found !== undefined) return found;
  for (const { prefix, level } of wildcards) if (composite.startsWith(prefix)) return level;
  return exact.get(name);
}

function toPart({ key, value }: Entry): string {
  return toKeyPart(key, value);
}
