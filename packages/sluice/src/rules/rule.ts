// Rules as the rest of the library knows them: parsed, every default filled in, nothing left to check.
// `parse.ts` makes them and nothing else does.

import type { Priority } from "../adaptive/priority.js";
import type { EscalationTerms } from "../algorithms/escalation.js";
import type { Limit } from "../limits/limits.js";
import type { DurableOptions, FailurePolicy } from "../stores/store.js";
import type { CidrList } from "./identity-keys/cidr.js";

/** What happens beyond the limit. */
export type OnExceed = "reject" | "delay" | "shadow" | "challenge";

/** Where a rule is decided; see shared stores and leases. */
export type Consistency = "strict" | "leased" | "eventual" | "local";

/** How the regions of a service agree on a rule: see stores/regions. */
export type Across = "each" | "central" | "split" | "leased" | "merged";

/** One part of a key. */
export type Dimension =
  | { readonly kind: "user" | "apiKey" | "tenant" | "ip" | "endpoint" | "global" }
  /** The network of the address, and what a trusted proxy says about the client's connection. */
  | { readonly kind: "asn" | "country" | "fingerprint" }
  /** Addresses counted together by the first bits of each family. */
  | { readonly kind: "ipPrefix"; readonly ipv4: number; readonly ipv6: number }
  | { readonly kind: "header" | "cookie" | "body" | "attribute"; readonly name: string };

/** Which requests a rule is about. An empty list or map asks for nothing. */
export interface Match {
  /** Patterns: `/users/:id`, `*` for one segment, a last `*` for everything below. */
  readonly paths: readonly string[];
  /** In upper case. GET stands for HEAD too. */
  readonly methods: readonly string[];
  /** In lower case: `api.example.com`, or `*.example.com` for all below it. */
  readonly hosts: readonly string[];
  /** By lower-case name: the values that fit, or none if being there is enough. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The same for attributes; `user`, `tenant` and `tier` are the facts of that name, `scope` is any of the scopes. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** Where the client is, by what it shows: any of these ranges, autonomous systems… Absent if nothing is asked. */
  readonly client?: ClientMatch | undefined;
}

/** What a rule can ask of a client besides its address. No identity has to be known for it. */
export type ClientField = "asn" | "country" | "fingerprint";

/** What a rule asks of a client. */
export interface ClientMatch {
  /** Undefined: any address. */
  readonly ips: CidrList | undefined;
  /** The ranges of `ips` as they were written. */
  readonly ranges: readonly string[];
  /** By field: the values of which one must fit, in the form in which requests have them. */
  readonly values: ReadonlyMap<ClientField, readonly string[]>;
}

/** A match that asks for nothing. */
export const EMPTY_MATCH: Match = {
  paths: [],
  methods: [],
  hosts: [],
  headers: new Map(),
  attributes: new Map(),
};

/** Names from the top of a JSON body down to a number. Lists are not entered. */
export type JsonPath = readonly string[];

/** Alternatives: the first of these paths that leads to a usable number counts. */
export type JsonTerm = readonly JsonPath[];

/** Numbers in a JSON body that are added up. A term without a number adds nothing, unless none has one. */
export type JsonSum = readonly JsonTerm[];

/** What a request costs before it is answered. */
export type Cost =
  | { readonly kind: "constant"; readonly units: number }
  | {
      readonly kind: "method";
      readonly byMethod: ReadonlyMap<string, number>;
      readonly otherwise: number;
    }
  /** What the header says, from `min` to `max`; `otherwise` if it says nothing usable. */
  | {
      readonly kind: "header";
      readonly name: string;
      readonly min: number;
      readonly max: number;
      readonly otherwise: number;
    }
  /** What the request's JSON body says, from `min` to `max`; `otherwise` if it says nothing usable. */
  | {
      readonly kind: "json";
      readonly sum: JsonSum;
      readonly min: number;
      readonly max: number;
      readonly otherwise: number;
    }
  /** A function in code, by the name under which the policy was given it. */
  | { readonly kind: "function"; readonly name: string };

/** Where the real cost comes from, once the response is known. */
export type SettleBy =
  | { readonly kind: "code" }
  | { readonly kind: "bytes" }
  | { readonly kind: "header"; readonly name: string }
  /** The response's body. `onAbort`: what a response that was cut short costs. */
  | { readonly kind: "json"; readonly sum: JsonSum; readonly onAbort: "estimated" | "seen" };

/** How important requests are when load is shed. */
export type RequestPriority =
  | { readonly kind: "constant"; readonly priority: Priority }
  /** By the plan of the caller's tenant. */
  | {
      readonly kind: "plan";
      readonly byPlan: ReadonlyMap<string, Priority>;
      readonly otherwise: Priority;
    }
  /** What a header of a trusted proxy says; `otherwise` if it says nothing usable. */
  | { readonly kind: "header"; readonly name: string; readonly otherwise: Priority };

/** Which responses are counted: `isCounted` says whether the listed ones are, or all others. */
export interface ResponseCondition {
  /** Whole statuses, and classes as 1 to 5. */
  readonly statuses: readonly number[];
  readonly isCounted: boolean;
}

/** The callers that are never counted. */
export interface Exempt {
  readonly ips: CidrList | undefined;
  /** The ranges of `ips` as they were written. */
  readonly ranges: readonly string[];
  /** Keys as they are counted: `user:42`. */
  readonly keys: ReadonlySet<string>;
}

/** What a rule says whose quotas are kept in a ledger. */
export interface Durable extends DurableOptions {
  /** Whether responses say that a share of `alertShares` is used. */
  readonly hasHeader: boolean;
}

/** Whom an exception is for, in the order in which they are looked for: the first that is found holds. */
export const EXCEPTION_SUBJECTS = ["apiKey", "user", "tenant", "plan"] as const;

/** Whom an exception is for. */
export type ExceptionSubject = (typeof EXCEPTION_SUBJECTS)[number];

/** The limits of an exception. */
export interface ExceptionLimits {
  /** An empty list means no limit. */
  readonly limits: readonly Limit[];
  /** When it ends, by the wall clock; Infinity if it does not. */
  readonly endsAtMs: number;
}

/**
 * The exceptions of a rule, by whom they are for and then by value. Of several for one value the first that has
 * not ended holds, and each ends later than the one before it.
 */
export type RuleExceptions = ReadonlyMap<
  ExceptionSubject,
  ReadonlyMap<string, readonly ExceptionLimits[]>
>;

/**
 * Whether each key of a rule belongs to callers of one value only, so that callers with and without an exception never
 * share one. A tenant has one plan at a time.
 */
export function isInKey(by: ExceptionSubject, { key }: Pick<Rule, "key">): boolean {
  const kind = by === "plan" ? "tenant" : by;
  return key.some((dimension) => dimension.kind === kind);
}

/**
 * Whether callers of all tiers share a rule's counters, so that a change of tier keeps what was used: for durable rules
 * by tenant, since a tenant has one tier at a time.
 */
export function countsTiersTogether({ durable, key }: Pick<Rule, "durable" | "key">): boolean {
  return durable !== undefined && key.some(({ kind }) => kind === "tenant");
}

/** One rule. */
export interface Rule {
  /** Letters, digits, `_`, `-` and `.`: it names counters, headers and metrics. */
  readonly id: string;
  readonly isEnabled: boolean;
  readonly match: Match;
  readonly key: readonly Dimension[];
  /** What happens to a request that has no value for part of the key. */
  readonly onMissing: "skip" | "refuse" | "ip";
  /** All hold, all or nothing. */
  readonly limits: readonly Limit[];
  /** Instead of `limits`, by the tier of the facts. An empty list means no limit. */
  readonly tiers: ReadonlyMap<string, readonly Limit[]>;
  /** Instead of both, by key. */
  readonly overrides: ReadonlyMap<string, readonly Limit[]>;
  /** Before the tiers, after the overrides. Absent if there are none; `withExceptions` adds them. */
  readonly exceptions?: RuleExceptions;
  readonly cost: Cost;
  /** Present: the cost is reserved, and settled when the response is there. */
  readonly settle: SettleBy | undefined;
  /** Present: reserved, and refunded if the response is not one of these. */
  readonly when: ResponseCondition | undefined;
  readonly onExceed: OnExceed;
  /** How many units a pass gives back under `onExceed: "challenge"`. Absent: all that the key used. */
  readonly passUnits?: number;
  /** The longest wait under `onExceed: "delay"`. */
  readonly delayMsMax: number;
  /** The share of keys that the rule is about, 0 to 100. */
  readonly rolloutPercent: number;
  readonly consistency: Consistency;
  /** How regions agree on it. Absent if each counts by itself. */
  readonly across?: Exclude<Across, "each">;
  /** Absent if the rule is not durable. */
  readonly durable?: Durable;
  /** When callers that keep being refused are blocked, and for how long. Absent if they are not. */
  readonly escalate?: EscalationTerms;
  readonly onStoreFailure: FailurePolicy | undefined;
  readonly timeoutMs: number | undefined;
  /** Rules with a higher priority come first, and win where two refuse alike. */
  readonly priority: number;
  /** How important its requests are when load is shed. Absent if the rule does not say. */
  readonly requestPriority?: RequestPriority;
  /** Whether responses show it. */
  readonly isExposed: boolean;
  /** Into how many counters a limit that many share is cut; 1 is not at all. */
  readonly shards: number;
  readonly exempt: Exempt;
  /** Its place in its file, such as `sluice.yaml:14`; undefined if it comes from code. */
  readonly place: string | undefined;
}

/** Every limit of a rule: its own, those of its tiers, of single keys and of exceptions. */
export function allLimitsOf({ limits, tiers, overrides, exceptions }: Rule): readonly Limit[] {
  const all = [limits, ...tiers.values(), ...overrides.values()].flat();
  return exceptions === undefined ? all : [...all, ...exceptionLimitsOf(exceptions)];
}

/** Each limit object of exceptions once: many share theirs. */
function exceptionLimitsOf(exceptions: RuleExceptions): ReadonlySet<Limit> {
  const limits = new Set<Limit>();
  for (const byValue of exceptions.values()) {
    for (const list of byValue.values()) {
      for (const each of list) for (const limit of each.limits) limits.add(limit);
    }
  }
  return limits;
}

/** A file of rules, parsed. */
export interface RuleSet {
  /** A hash of what the rules say: the same on every node, and after a reload that changes nothing. */
  readonly version: string;
  /** The version without exceptions. Absent if there are none. */
  readonly versionOfRules?: string;
  /** The kill switch: false lets every request pass and counts nothing. */
  readonly isEnabled: boolean;
  /** How many bits of an IPv6 address are one client; default 64. */
  readonly ipv6Prefix: number;
  /** The callers that are exempt from every rule. */
  readonly exempt: Exempt;
  readonly rules: readonly Rule[];
}
