// The limits of a rule as they are charged: each with its counter. Equal counters stay the same objects when
// rules are replaced, so that stores have nothing to look up again.

import type { Limit } from "../../../limits/limits.js";
import type { Counter, DurableOptions, FailurePolicy } from "../../../stores/store.js";
import { countsTiersTogether, type Durable, type Rule } from "../../rule.js";
import { toDelayed } from "./delay.js";
import type { Lane } from "./lanes.js";

/** The parts of headers that stay the same for all limits of a kind. */
export interface KindTexts {
  /** `q=100;w=60`. */
  readonly quota: string;
  /** `X-RateLimit-Limit: 100`, and in the next line `X-RateLimit-Remaining: `. */
  readonly legacyLines: string;
  /** `100;w=60`, as older drafts have it. */
  readonly policy: string;
  readonly limit: string;
  /** The window in whole seconds from 1; Infinity if there is none. */
  readonly windowSeconds: number;
}

/** What equal limits of all rules have in common. */
export interface LimitKind {
  /** The limit as the rule has it: what is counted differs from it where a rule delays. */
  readonly limit: Limit;
  /** Whether it is the rule's own, that of a single key, of an exception or of a tier. */
  readonly from: "rule" | "override" | "exception" | "tier";
  readonly isQuota: boolean;
  readonly isPermit: boolean;
  /** Whether a request may have to wait for it. */
  readonly mayDelay: boolean;
  /** Whether a larger bucket is counted than the rule has. */
  readonly isEnlarged: boolean;
  /** Whether what is charged is settled when the request has ended. */
  readonly isHeld: boolean;
  /** Whether its units are bytes of responses. */
  readonly isInBytes: boolean;
  /** The least used share of a durable quota at which responses carry a warning; undefined if they never do. */
  readonly warnAt: number | undefined;
  /** Undefined until a response shows it. */
  texts: KindTexts | undefined;
}

/**
 * One limit of a rule, as it is charged. It is small, and what it shares with others is one object: with ten thousand
 * rules each part of the processor's cache that a request touches counts (bench service/rules-scale).
 */
export interface RuleLimit {
  readonly counter: Counter;
  readonly kind: LimitKind;
  /** `"login";`, undefined until a response shows it. */
  label: string | undefined;
  /** `RateLimit-Policy: "login";q=100;w=60`, and in the next line `RateLimit: "login";r=`; undefined until a response has them. */
  namedLines: string | undefined;
}

/** What all limits of a rule are made with. */
export interface LimitsContext {
  readonly rule: Rule;
  readonly lane: Lane;
  /** How much longer permits last than the rule says: see {@link LongestDelays}. */
  readonly extraPermitMs: number;
  readonly onStoreFailure: FailurePolicy;
  readonly timeoutMs: number | undefined;
}

/** Whose limits are made, and where they are counted. */
export interface LimitsPlace {
  readonly from: LimitKind["from"];
  readonly scope: string;
  /** The counters of the rule so far. */
  readonly before: KnownCounters;
}

/** Counters by their JSON. */
export type KnownCounters = ReadonlyMap<string, Counter>;

/** No counters. */
export const NO_COUNTERS: KnownCounters = new Map();

/** Makes a list of limits ready to be charged. */
export function toRuleLimits(
  limits: readonly Limit[],
  context: LimitsContext,
  { from, scope, before }: LimitsPlace,
): readonly RuleLimit[] {
  const { rule, extraPermitMs } = context;
  return limits.map((limit, part): RuleLimit => {
    const counted = toDelayed(limit, rule, extraPermitMs);
    const counter = toCounter({ scope, part, limit: counted }, context, before);
    const kind = toShared(toKind(limit, counted, rule, from));
    return { counter, kind, label: undefined, namedLines: undefined };
  });
}

function toKind(limit: Limit, counted: Limit, rule: Rule, from: LimitKind["from"]): LimitKind {
  const isPermit = limit.algorithm === "concurrency";
  const isEnlarged = counted !== limit && limit.algorithm === "tokenBucket";
  return {
    limit,
    from,
    isQuota: limit.algorithm === "quota",
    isPermit,
    mayDelay: isEnlarged || (limit.algorithm === "leakyBucket" && limit.mode === "shape"),
    isEnlarged,
    isHeld: isPermit || rule.when !== undefined || rule.settle !== undefined,
    isInBytes: rule.settle?.kind === "bytes",
    warnAt: rule.durable?.hasHeader ? rule.durable.alertShares[0] : undefined,
    texts: undefined,
  };
}

/** The kinds of each limit. Rules that say the same share a limit. */
const kinds = new WeakMap<Limit, LimitKind[]>();

/** The equal kind that was made before, if there is one. */
function toShared(kind: LimitKind): LimitKind {
  const ofLimit = kinds.get(kind.limit) ?? [];
  const known = ofLimit.find((other) => isEqual(other, kind));
  if (known !== undefined) return known;
  ofLimit.push(kind);
  kinds.set(kind.limit, ofLimit);
  return kind;
}

/** Whether two kinds of one limit are equal. What else they say follows from the limit. */
function isEqual(a: LimitKind, b: LimitKind): boolean {
  const isAlike = a.from === b.from && a.warnAt === b.warnAt && a.isInBytes === b.isInBytes;
  return isAlike && a.isHeld === b.isHeld && a.isEnlarged === b.isEnlarged;
}

/** A counter with these numbers: the one in use so far, if the rule has an equal one. */
function toCounter(
  { scope, part, limit }: Pick<Counter, "scope" | "part" | "limit">,
  { rule, lane, onStoreFailure, timeoutMs }: LimitsContext,
  before: KnownCounters,
): Counter {
  const counted: Counter =
    timeoutMs === undefined
      ? { scope, part, limit, onStoreFailure }
      : { scope, part, limit, onStoreFailure, timeoutMs };
  const counter =
    rule.durable === undefined ? counted : { ...counted, durable: toOptions(rule.durable) };
  const known = before.size === 0 ? undefined : before.get(JSON.stringify(counter));
  if (known === undefined) lane.store.prepare?.(limit, counter);
  return known ?? counter;
}

/** Whether responses show a share is not the ledger's affair. */
function toOptions({ carryOverMax, alertShares }: Durable): DurableOptions {
  return { carryOverMax, alertShares };
}

/**
 * Where a tier is counted: each apart, unless the rule counts them together. Callers of several tiers may share a key, as
 * users of a tenant or behind an address do; in one counter the smaller tier would clip what was used of the larger one.
 */
export function scopeOfTier(rule: Rule, tier: string): string {
  return countsTiersTogether(rule) ? rule.id : `${rule.id}/${tier}`;
}
