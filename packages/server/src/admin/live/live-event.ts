// What the live stream sends: what happened in the last second, as rates, and what an operator has to know. Made of what
// the nodes of the view read, whatever the number of pages.

import type { RuleCounts } from "../../telemetry/live/live-counts.js";
import type { NodeRefusal, NodeSecond, NodeStore } from "../../telemetry/live/node-second.js";
import type { HashKey } from "../../telemetry/log/key-hash.js";
import { LATENCY_BUCKETS_S } from "../../telemetry/metrics/latency.js";
import type { OutcomeCounts } from "../../telemetry/tally/outcome-counts.js";
import type { LiveSecond } from "../../telemetry/tally/second-history.js";

/** Nodes that a notice or a list names; of further ones it says how many they are. */
export const NAMED_MAX = 5;

/** Something that works only in part, in one sentence. */
export interface LiveNotice {
  /** The same for as long as it lasts: `store`, `switch:login`. */
  readonly id: string;
  readonly isSevere: boolean;
  readonly text: string;
  /** Where, if not on all nodes of the view: at most five names. */
  readonly nodes: readonly string[] | null;
}

/** Percentiles of decision times, in milliseconds: upper bounds of the buckets that they are in. */
export interface LiveLatency {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** One of the busiest keys. */
export interface LiveKey {
  readonly rule: string;
  readonly key: string;
  readonly perSecond: number;
  /** Its share of all decisions, 0 to 1. */
  readonly share: number;
}

/** A refusal. */
export interface LiveRefusal {
  readonly atMs: number;
  readonly rule: string | null;
  readonly key: string | null;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly limit: number | null;
  /** The request, for those who may see it; else the patterns of the rule. */
  readonly request: string;
}

/** The store, as a card shows it. Of nodes that differ, the names of all stores. */
export type LiveStore = NodeStore;

/** A node of the fleet, in the last second. */
export interface LiveNode extends OutcomeCounts {
  readonly name: string;
  readonly kind: "control" | "follower";
  /** The version of its rules in force; null if it has not reported. */
  readonly version: string | null;
  /** How old its numbers are; null if it has not reported. */
  readonly ageMs: number | null;
  /** Whether it is connected but has not reported for long, or is gone: its requests are not in the totals. */
  readonly isSilent: boolean;
  readonly p99Ms: number | null;
}

/** Nodes that other control nodes show. */
export interface LiveElsewhere {
  readonly nodes: number;
  /** The control nodes: at most five names. */
  readonly via: readonly string[];
}

/** Whose numbers these are. */
export interface LiveFleet {
  /** This node: `alone` is one without a control plane. */
  readonly kind: "alone" | "control" | "follower";
  /** The name of this node; null without a control plane. */
  readonly name: string | null;
  /** On a follower: the control node, which has the numbers of the whole fleet. */
  readonly follow: string | null;
  /** The node that was picked; null: all of them. */
  readonly picked: string | null;
  /** Nodes that are known, this one included. */
  readonly nodesInAll: number;
  /** How many of them have reported recently. */
  readonly reporting: number;
  /** Nodes that are not in the numbers because they are, or follow, other control nodes; null if there are none. */
  readonly elsewhere: LiveElsewhere | null;
  /** At most {@link NODES_MAX}: this one, silent ones and the busiest; sorted by name. */
  readonly nodes: readonly LiveNode[];
}

/** The event `tick`: the last second. */
export interface LiveTick extends OutcomeCounts {
  /** When the second began, by the wall clock, as of each {@link LiveSecond}. */
  readonly atMs: number;
  /** The version of the rules in force. */
  readonly version: string;
  /** Null if no decision was measured. */
  readonly latency: LiveLatency | null;
  /** The busiest in this second first; at most 50, or 1,000 of those that counted something if all were asked for. */
  readonly rules: readonly RuleCounts[];
  /** How many rules are in force. */
  readonly rulesInForce: number;
  readonly hottest: readonly LiveKey[];
  /** Those of this second, the newest first. */
  readonly refusals: readonly LiveRefusal[];
  readonly store: LiveStore;
  readonly notices: readonly LiveNotice[];
  readonly fleet: LiveFleet;
}

/** The event `begin`: what came before. Sent again when other nodes have reported theirs. */
export interface LiveBegin {
  /** The last minutes; seconds without decisions are left out. */
  readonly seconds: readonly LiveSecond[];
  readonly refusals: readonly LiveRefusal[];
}

/** Nodes in one event. */
export const NODES_MAX = 50;

/** The percentiles of counts by bucket; null if there are none. */
export function toLatency(counts: readonly number[]): LiveLatency | null {
  const inAll = counts.reduce((a, b) => a + b, 0);
  if (inAll === 0) return null;
  const msAt = (share: number) => {
    let seen = 0;
    const at = counts.findIndex((count) => {
      seen += count;
      return seen >= share * inAll;
    });
    return (LATENCY_BUCKETS_S[at] ?? LATENCY_BUCKETS_S[LATENCY_BUCKETS_S.length - 1]) * 1_000;
  };
  return { p50Ms: msAt(0.5), p95Ms: msAt(0.95), p99Ms: msAt(0.99) };
}

/** The busiest keys of a view, with their share of its decisions. @param toKey - Hashes keys, or leaves them. */
export function toLiveKeys(
  { hottest, decisionsPerSecond }: Pick<NodeSecond, "hottest" | "decisionsPerSecond">,
  toKey: HashKey,
): LiveKey[] {
  return hottest.map(({ rule, key, perSecond }) => ({
    rule,
    key: toKey(key),
    perSecond,
    share: decisionsPerSecond === 0 ? 0 : Math.min(1, perSecond / decisionsPerSecond),
  }));
}

/** A refusal as a line. @param hashKey - Undefined for readers who may see keys. */
export function toLiveRefusal(
  { ageMs, request, endpoint, key, ...rest }: NodeRefusal,
  readAtMs: number,
  hashKey: HashKey | undefined,
): LiveRefusal {
  const isShown = hashKey === undefined;
  return {
    ...rest,
    atMs: readAtMs - ageMs,
    key: key === null || isShown ? key : hashKey(key),
    request: isShown ? (request ?? endpoint) : endpoint,
  };
}
