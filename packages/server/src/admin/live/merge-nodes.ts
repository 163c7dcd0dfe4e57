// What several nodes did in one second, as if they were one. Counts and buckets of latencies are added up, so that
// percentiles of the fleet are those of all its decisions.

import type { RuleCounts } from "../../telemetry/live/live-counts.js";
import {
  NODE_RULES_MAX,
  type NodeNotice,
  type NodeSecond,
  type NodeStore,
} from "../../telemetry/live/node-second.js";
import {
  addOutcomes,
  NO_OUTCOMES,
  type OutcomeCounts,
} from "../../telemetry/tally/outcome-counts.js";
import type { TopKey } from "../../telemetry/top/top-report.js";
import type { LiveNotice } from "./live-event.js";
import { NAMED_MAX } from "./live-event.js";
import { busynessOf } from "./node/busiest-rules.js";

/** Keys in one event. */
export const KEYS_MAX = 12;
/** Keys of all nodes that are added up: of a large fleet fewer of each node, but some. */
const MERGED_KEYS_MAX = 6_000;
const OF_EACH_MIN = 3;
/** Notices in one event, and the characters of all of them together. */
const NOTICES_MAX = 50;
const NOTICES_LENGTH_MAX = 20_000;

/** A node and what it did. */
export interface NamedSecond {
  readonly name: string;
  readonly second: NodeSecond;
}

/** What a view shows of its nodes together; refusals, which have times, are apart. */
export type MergedSecond = Omit<NodeSecond, "spanMs" | "refusals" | "notices"> & {
  readonly notices: readonly LiveNotice[];
};

/** The sum of what nodes did. @param nodes - At least one; rules in force are those of the first. */
export function mergeNodes(nodes: readonly NamedSecond[]): MergedSecond {
  const seconds = nodes.map(({ second }) => second);
  const [{ version, rulesInForce }] = seconds;
  const ofEachMax = Math.max(OF_EACH_MIN, Math.floor(MERGED_KEYS_MAX / nodes.length));
  return {
    ...seconds.map(outcomesOf).reduce(addOutcomes),
    version,
    rulesInForce,
    latency: addLists(seconds.map(({ latency }) => latency)),
    rules: addRules(seconds.map(({ rules }) => rules)),
    decisionsPerSecond: seconds.reduce((sum, each) => sum + each.decisionsPerSecond, 0),
    hottest: addKeys(seconds.map(({ hottest }) => hottest.slice(0, ofEachMax))).slice(0, KEYS_MAX),
    store: joinStores(seconds.map(({ store }) => store)),
    notices: joinNotices(nodes),
  };
}

/**
 * What a node did, as of one second: of one that reads every few seconds the average.
 *
 * A span of up to one and a half seconds counts as one, so that nothing is rounded away where nodes read each second.
 */
export function toOneSecond(second: NodeSecond): NodeSecond {
  const seconds = secondsOf(second);
  if (seconds === 1) return second;
  const share = (count: number) => Math.round(count / seconds);
  const each = <T extends ReturnType<typeof outcomesOf>>(counts: T): T => ({
    ...counts,
    allowed: share(counts.allowed),
    delayed: share(counts.delayed),
    blocked: share(counts.blocked),
    shadowBlocked: share(counts.shadowBlocked),
  });
  // Latencies are not shown as numbers, so they need not be whole; each second weighs the same in a percentile.
  const latency = second.latency.map((value) => value / seconds);
  return { ...each(second), latency, rules: second.rules.map(each) };
}

/** How many seconds a reading covers; at least 1. */
export function secondsOf({ spanMs }: NodeSecond): number {
  return Math.max(1, Math.round(spanMs / 1_000));
}

/** Two readings of one node as one, with as many rules as one may have; all but the counts is as of the second. */
export function addSeconds(a: NodeSecond, b: NodeSecond): NodeSecond {
  return {
    ...b,
    ...addOutcomes(a, b),
    latency: addLists([a.latency, b.latency]),
    rules: addRules([a.rules, b.rules]).slice(0, NODE_RULES_MAX),
  };
}

/** A silent node: its description, without any numbers. */
export function toIdle(second: NodeSecond): NodeSecond {
  const lists = { latency: [], rules: [], hottest: [], refusals: [], notices: [] };
  return { ...second, ...NO_OUTCOMES, ...lists, decisionsPerSecond: 0 };
}

function outcomesOf({ allowed, delayed, blocked, shadowBlocked }: NodeSecond | RuleCounts) {
  return { allowed, delayed, blocked, shadowBlocked };
}

function addLists(lists: readonly (readonly number[])[]): number[] {
  const sums: number[] = [];
  for (const list of lists)
    for (let i = 0; i < list.length; i++) sums[i] = (sums[i] ?? 0) + list[i];
  return sums;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The busiest first. Added up in place: a large fleet has a hundred thousand of them, each second. */
function addRules(lists: readonly (readonly RuleCounts[])[]): RuleCounts[] {
  const byRule = new Map<string, Writable<RuleCounts>>();
  for (const list of lists) {
    for (const each of list) {
      const sum = byRule.get(each.rule);
      if (sum === undefined) byRule.set(each.rule, { ...each });
      else addTo(sum, each);
    }
  }
  return [...byRule.values()].sort((a, b) => busynessOf(b) - busynessOf(a));
}

function addTo(sum: Writable<OutcomeCounts>, each: OutcomeCounts): void {
  sum.allowed += each.allowed;
  sum.delayed += each.delayed;
  sum.blocked += each.blocked;
  sum.shadowBlocked += each.shadowBlocked;
}

/** The busiest first. */
function addKeys(lists: readonly (readonly TopKey[])[]): TopKey[] {
  const sums: Writable<TopKey>[] = [];
  const byRule = new Map<string, Map<string, Writable<TopKey>>>();
  for (const list of lists) {
    for (const each of list) {
      const ofRule = byRule.get(each.rule) ?? new Map<string, Writable<TopKey>>();
      if (ofRule.size === 0) byRule.set(each.rule, ofRule);
      const sum = ofRule.get(each.key);
      if (sum !== undefined) {
        sum.perSecond += each.perSecond;
        continue;
      }
      const first = { ...each };
      ofRule.set(each.key, first);
      sums.push(first);
    }
  }
  return sums.sort((a, b) => b.perSecond - a.perSecond);
}

function joinStores(stores: readonly NodeStore[]): NodeStore {
  const join = (values: readonly string[]) => [...new Set(values)].join(", ");
  return {
    kind: join(stores.map(({ kind }) => kind)),
    isFallback: stores.some(({ isFallback }) => isFallback),
    onFailure: join(stores.map(({ onFailure }) => onFailure)),
  };
}

interface JoinedNotice {
  readonly notice: NodeNotice;
  /** The first few of its nodes, and how many there are. */
  readonly names: string[];
  count: number;
  lastName: string;
}

/** Each sentence once, with the nodes that it is about: severe ones first, then those of most nodes. */
function joinNotices(nodes: readonly NamedSecond[]): LiveNotice[] {
  const byId = new Map<string, JoinedNotice>();
  for (const { name, second } of nodes) {
    for (const notice of second.notices) {
      const known = byId.get(notice.id);
      if (known === undefined)
        byId.set(notice.id, { notice, names: [name], count: 1, lastName: name });
      else addName(known, name);
    }
  }
  const rank = ({ notice, count }: JoinedNotice) => (notice.isSevere ? nodes.length : 0) + count;
  const ranked = [...byId.values()].sort((a, b) => rank(b) - rank(a));
  return firstOf(ranked).map(({ notice, names, count }) => ({
    ...notice,
    nodes: count === nodes.length ? null : names,
  }));
}

/** A node counts once, though it may list a notice twice. */
function addName(joined: JoinedNotice, name: string): void {
  if (joined.lastName === name) return;
  joined.lastName = name;
  joined.count++;
  if (joined.names.length < NAMED_MAX) joined.names.push(name);
}

/** As many as one event may have. */
function firstOf(joined: readonly JoinedNotice[]): readonly JoinedNotice[] {
  let length = 0;
  const end = joined.findIndex(({ notice: { id, text } }, at) => {
    length += id.length + text.length;
    return at >= NOTICES_MAX || length > NOTICES_LENGTH_MAX;
  });
  return end < 0 ? joined : joined.slice(0, end);
}
