// What one kind of page is sent: the whole fleet or one node, with keys in clear or hashed. Made once for all pages that
// show the same.

import { wallMs } from "../../base/clock.js";
import type { RuleCounts } from "../../telemetry/live/live-counts.js";
import type { HashKey } from "../../telemetry/log/key-hash.js";
import { mergeSeconds } from "../../telemetry/merge.js";
import type { LiveSecond } from "../../telemetry/tally/second-history.js";
import type { AdminControl } from "../service-control.js";
import type { Fleet } from "./fleet.js";
import type { FleetNode, ReceivedRefusal } from "./fleet-node.js";
import {
  type LiveBegin,
  type LiveTick,
  toLatency,
  toLiveKeys,
  toLiveRefusal,
} from "./live-event.js";
import { mergeNodes, type NamedSecond, toIdle } from "./merge-nodes.js";
import { busynessOf } from "./node/busiest-rules.js";
import type { NodeReader, NodeSpan } from "./node/node-reader.js";
import { toLiveFleet, toSilence } from "./node-list.js";
import type { OtherNodes } from "./other-nodes.js";

const SECOND_MS = 1_000;
/** Rules in one event, and in one of a page that lists all; the totals are of all in either. */
const RULES_MAX = 50;
const ALL_RULES_MAX = 1_000;
/** Refusals in one event, and in the first one. */
const REFUSALS_MAX = 10;
const FIRST_REFUSALS_MAX = 20;

/** What a page shows. */
export interface LiveView {
  /** The name of a node; undefined: the whole fleet. */
  readonly node: string | undefined;
  /** Whether keys are in clear. */
  readonly showsKeys: boolean;
  /** Whether all rules that counted something are listed, or only the busiest. */
  readonly hasAllRules: boolean;
}

/** What views are made of. */
export interface ViewSources {
  readonly control: AdminControl;
  readonly reader: NodeReader;
  readonly fleet: Fleet;
  readonly others: OtherNodes;
  readonly hashKey: HashKey;
}

/** Makes what views are sent. */
export class LiveViews {
  readonly #sources: ViewSources;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  /** Whether there is a node of this name. */
  has(node: string): boolean {
    return this.#isOwn(node) || this.#sources.fleet.has(node);
  }

  /** The last minutes. */
  async toBegin(view: LiveView): Promise<LiveBegin> {
    const { reader } = this.#sources;
    const followers = this.#followersIn(view);
    const own = this.#isOwn(view.node) ? [await reader.past()] : [];
    const others = followers.flatMap(({ past }) => past?.read(wallMs()) ?? []);
    const latest = this.#isOwn(view.node) ? await reader.latestRefusals() : [];
    const refusals = [...latest, ...followers.flatMap(({ recent }) => recent)];
    return {
      seconds: followers.length === 0 ? own.flat() : mergeSeconds([...own.map(align), others]),
      refusals: this.#toRefusals(refusals, view, FIRST_REFUSALS_MAX),
    };
  }

  /** How many nodes of the view have still to report their last minutes. */
  pastMissing(view: LiveView): number {
    return this.#followersIn(view).filter(({ past }) => past === undefined).length;
  }

  /** The last second. @param own - What this node has just read. */
  toTick(view: LiveView, own: NodeSpan): LiveTick {
    const { fleet, hashKey, control, others } = this.#sources;
    const followers = this.#followersIn(view);
    const silent = followers.filter((node) => fleet.isSilent(node));
    const { notices, ...merged } = mergeNodes(this.#membersOf(view, own, followers));
    const { allowed, delayed, blocked, shadowBlocked } = merged;
    const ownRefusals = own.second.refusals.map((refusal) => ({ refusal, receivedMs: own.atMs }));
    const refusals = [
      ...(this.#isOwn(view.node) ? ownRefusals : []),
      ...followers.flatMap(({ fresh }) => fresh),
    ];
    return {
      atMs: own.fromMs,
      version: merged.version,
      ...{ allowed, delayed, blocked, shadowBlocked },
      latency: toLatency(merged.latency),
      rules: view.hasAllRules ? allOf(merged.rules) : merged.rules.slice(0, RULES_MAX),
      rulesInForce: merged.rulesInForce,
      hottest: toLiveKeys(merged, view.showsKeys ? (key) => key : hashKey),
      refusals: this.#toRefusals(refusals, view, REFUSALS_MAX),
      store: merged.store,
      notices: [...toSilence(silent), ...notices],
      fleet: toLiveFleet({
        control,
        fleet,
        own: own.second,
        picked: view.node,
        elsewhere: others.elsewhere,
      }),
    };
  }

  /** Never empty: of a node that is silent nothing is known about this second. */
  #membersOf(view: LiveView, own: NodeSpan, followers: readonly FleetNode[]): NamedSecond[] {
    const { fleet, control } = this.#sources;
    const members: NamedSecond[] = [];
    if (this.#isOwn(view.node))
      members.push({ name: control.nodeName?.() ?? "this node", second: own.second });
    for (const node of followers)
      if (node.second !== undefined && !fleet.isSilent(node))
        members.push({ name: node.name, second: node.second });
    if (members.length > 0) return members;
    return [{ name: view.node ?? "", second: toIdle(followers.at(0)?.second ?? own.second) }];
  }

  #followersIn({ node }: LiveView): readonly FleetNode[] {
    const { fleet } = this.#sources;
    if (node === undefined) return fleet.nodes;
    const found = this.#isOwnName(node) ? undefined : fleet.find(node);
    return found === undefined ? [] : [found];
  }

  #isOwn(node: string | undefined): boolean {
    return node === undefined || this.#isOwnName(node);
  }

  #isOwnName(node: string): boolean {
    return node === this.#sources.control.nodeName?.();
  }

  #toRefusals(received: readonly ReceivedRefusal[], { showsKeys }: LiveView, limit: number) {
    const hashKey = showsKeys ? undefined : this.#sources.hashKey;
    return received
      .map(({ refusal, receivedMs }) => ({ refusal, receivedMs, atMs: receivedMs - refusal.ageMs }))
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, limit)
      .map(({ refusal, receivedMs }) => toLiveRefusal(refusal, receivedMs, hashKey));
  }
}

/** Those that have counted something: others are idle. */
function allOf(rules: readonly RuleCounts[]): readonly RuleCounts[] {
  return rules.filter((rule) => busynessOf(rule) > 0).slice(0, ALL_RULES_MAX);
}

/** Seconds of this node as they are kept of followers: by how many seconds ago they began. */
function align(seconds: readonly LiveSecond[]): LiveSecond[] {
  const nowMs = wallMs();
  const second = Math.floor(nowMs / SECOND_MS);
  return seconds.map((each) => {
    const ageSeconds = Math.floor((nowMs - each.atMs) / SECOND_MS);
    return { ...each, atMs: (second - ageSeconds) * SECOND_MS };
  });
}
