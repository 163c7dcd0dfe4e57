// The list of nodes that a page shows beside the numbers: who is in them, how old each node's are, and who is silent.

import { formatDuration } from "sluice/shapes";
import type { NodeSecond } from "../../telemetry/live/node-second.js";
import { NO_OUTCOMES, sizeOf } from "../../telemetry/tally/outcome-counts.js";
import type { AdminControl } from "../service-control.js";
import type { Fleet } from "./fleet.js";
import type { FleetNode } from "./fleet-node.js";
import {
  type LiveElsewhere,
  type LiveFleet,
  type LiveNode,
  type LiveNotice,
  NAMED_MAX,
  NODES_MAX,
  toLatency,
} from "./live-event.js";

/** What the list is made of. */
export interface FleetSources {
  readonly control: AdminControl;
  readonly fleet: Fleet;
  /** What this node did. */
  readonly own: NodeSecond;
  readonly picked: string | undefined;
  readonly elsewhere: LiveElsewhere | null;
}

/** Whose numbers a page shows, and which others there are. */
export function toLiveFleet(sources: FleetSources): LiveFleet {
  const { control, fleet, own, picked, elsewhere } = sources;
  const { controlPlane } = control;
  const name = control.nodeName?.() ?? null;
  const follow =
    controlPlane !== undefined && "follow" in controlPlane ? controlPlane.follow : null;
  const isControl = controlPlane !== undefined && follow === null;
  const followers = fleet.nodes.map((node) => toFollower(node, fleet.isSilent(node)));
  return {
    kind: isControl ? "control" : follow === null ? "alone" : "follower",
    name,
    follow,
    picked: picked ?? null,
    elsewhere,
    nodesInAll: followers.length + 1,
    reporting: followers.filter(({ isSilent, ageMs }) => !isSilent && ageMs !== null).length + 1,
    nodes: name === null ? [] : listed(toOwn(name, isControl, own), followers),
  };
}

/** A sentence about nodes whose numbers are missing; none if all report. */
export function toSilence(silent: readonly FleetNode[]): LiveNotice[] {
  if (silent.length === 0) return [];
  const [{ name, silentMs }] = silent;
  const names = silent.slice(0, NAMED_MAX).map((node) => node.name);
  const more = silent.length > NAMED_MAX ? ` and ${silent.length - NAMED_MAX} more` : "";
  const text =
    silent.length === 1
      ? `${name} has not reported for ${formatDuration(wholeSeconds(silentMs))}. Its requests are missing from these numbers.`
      : `${silent.length} nodes have not reported lately (${names.join(", ")}${more}). Their requests are missing from these numbers.`;
  return [{ id: "silent", isSevere: true, text, nodes: null }];
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function toOwn(name: string, isControl: boolean, own: NodeSecond): LiveNode {
  const kind = isControl ? "control" : "follower";
  return { ...toNumbers(own), name, kind, ageMs: 0, isSilent: false };
}

function toFollower(node: FleetNode, isSilent: boolean): LiveNode {
  const { name, second, ageMs } = node;
  const numbers = toNumbers(isSilent ? undefined : second);
  const version = second?.version ?? null;
  const age = ageMs === null ? null : Math.round(ageMs);
  return { ...numbers, version, name, kind: "follower", ageMs: age, isSilent };
}

function toNumbers(second: NodeSecond | undefined) {
  const { allowed, delayed, blocked, shadowBlocked } = second ?? NO_OUTCOMES;
  const p99Ms = toLatency(second?.latency ?? [])?.p99Ms ?? null;
  return { allowed, delayed, blocked, shadowBlocked, version: second?.version ?? null, p99Ms };
}

/** This node, silent ones and the busiest, by name. */
function listed(own: LiveNode, followers: readonly LiveNode[]): LiveNode[] {
  const rank = (node: LiveNode) => (node.isSilent ? Number.POSITIVE_INFINITY : sizeOf(node));
  const first = [...followers].sort((a, b) => (rank(a) < rank(b) ? 1 : -1));
  const shown = [own, ...first.slice(0, NODES_MAX - 1)];
  return shown.sort((a, b) => (a.name < b.name ? -1 : 1));
}
