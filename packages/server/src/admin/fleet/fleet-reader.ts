// What routes of a control node ask the whole fleet: this node by itself, and its followers by questions. A node without
// followers answers for itself alone.

import type { Facts } from "sluice/rules";
import { wallMs } from "../../base/clock.js";
import type { FleetAnswers } from "../../control/feed/follower-questions.js";
import {
  LATEST_COUNT_MAX,
  type NodeQuestion,
  type NodeStanding,
  type NodeStore,
} from "../../control/feed/node-question.js";
import type { Core } from "../../core/core.js";
import { hideOthers, sortNewest } from "../../telemetry/samples/sample-search.js";
import {
  LATEST_SAMPLES,
  type SampledDecision,
  type SamplesQuery,
} from "../../telemetry/samples/sampled-decision.js";
import { OtherNodes } from "../live/other-nodes.js";
import type { AdminControl } from "../service-control.js";
import { type Coverage, toCoverage } from "./coverage.js";
import { samplesSince } from "./node-answers.js";
import { toNodeStore } from "./node-store.js";
import { type FleetSamples, type SamplesOfNode, toFleetSamples } from "./places.js";

/** Samples of all followers together that a preview decides again. */
const SAMPLES_MAX = 24_000;
/** How long followers have to answer. */
const ANSWER_MS_MAX = 1_000;
/** The same with all of their samples. */
const SAMPLES_MS_MAX = 5_000;

/** A sample with the name of the node that decided it; null if it has none, without a control plane. */
export type SampleOfNode = SampledDecision & { readonly node: string | null };

/** How a request stands where other nodes count. */
export interface StandingOfNode extends NodeStanding {
  readonly node: string;
  readonly store: string;
}

/** How a request stands on the nodes that don't count in the store of this node. */
export interface Standings {
  readonly coverage: Coverage | null;
  /** The name of this node; null without a control plane. */
  readonly node: string | null;
  /** The kind of its store. */
  readonly store: string;
  /** Other nodes that count in that store: what this node says of its counters holds for them. */
  readonly sharing: number;
  readonly elsewhere: readonly StandingOfNode[];
}

/** Asks the fleet. */
export class FleetReader {
  readonly #core: Core;
  readonly #control: AdminControl;
  /** Known once it is asked for. */
  #ownStore: NodeStore | undefined;
  readonly #others: OtherNodes;

  constructor(core: Core, control: AdminControl) {
    this.#core = core;
    this.#control = control;
    this.#others = new OtherNodes(control);
  }

  /** The newest samples. */
  async latest(
    query: SamplesQuery,
  ): Promise<{ items: readonly SampleOfNode[]; coverage: Coverage | null }> {
    const { limit = LATEST_SAMPLES, showsKeys = false } = query;
    const { samples: ownSamples } = this.#core.telemetry;
    // Each node hashes keys by a secret of its own, so hashes are made, and compared, here.
    const key = showsKeys ? query.key : undefined;
    const asked = { ...query, key, showsKeys: true, limit: Math.min(limit, LATEST_COUNT_MAX) };
    const [own, fleet] = await Promise.all([
      this.#control.latestSamples?.(query) ?? ownSamples.latest(query),
      this.#ask({ kind: "latest", query: asked }, ANSWER_MS_MAX),
    ]);
    const name = this.#control.nodeName?.() ?? null;
    const items: SampleOfNode[] = own.map((sample) => ({ ...sample, node: name }));
    for (const [node, { latest = [], nowMs }] of fleet?.answers ?? []) {
      const aheadMs = wallMs() - nowMs;
      const seen = showsKeys
        ? latest
        : hideOthers(latest, query, (each) => ownSamples.hashKey(each));
      for (const sample of seen) items.push({ ...sample, atMs: sample.atMs + aheadMs, node });
    }
    return { items: sortNewest(items).slice(0, limit), coverage: await this.#coverageOf(fleet) };
  }

  /** All decisions about sampled keys of the last while. */
  async since(spanMs: number): Promise<FleetSamples & { readonly coverage: Coverage | null }> {
    const followers = this.#control.feed?.streams.count ?? 0;
    const countMax = Math.floor(SAMPLES_MAX / Math.max(1, followers));
    const fleet = await this.#ask({ kind: "since", spanMs, countMax }, SAMPLES_MS_MAX);
    const sources = { core: this.#core, control: this.#control };
    const own = await samplesSince(sources, wallMs() - spanMs);
    const nodes: SamplesOfNode[] = [{ ...own, place: this.#store.id }];
    for (const { since, nowMs, store } of fleet?.answers.values() ?? []) {
      if (since === undefined) continue;
      const aheadMs = wallMs() - nowMs;
      const samples = since.samples.map((each) => ({ ...each, atMs: each.atMs + aheadMs }));
      nodes.push({ ...since, fromMs: since.fromMs + aheadMs, samples, place: store.id });
    }
    const together = toFleetSamples(nodes);
    return { ...together, coverage: await this.#coverageOf(fleet, together.nodesLeftOut) };
  }

  /** How a request stands on nodes that count elsewhere. @param facts - Without an API key in clear. */
  async standings(facts: Facts): Promise<Standings> {
    const { id, kind } = this.#store;
    const fleet = await this.#ask({ kind: "explain", facts, exceptStore: id }, ANSWER_MS_MAX);
    const elsewhere: StandingOfNode[] = [];
    let sharing = 0;
    for (const [node, { store, standing }] of fleet?.answers ?? []) {
      if (store.id === id) sharing++;
      else if (standing !== undefined) elsewhere.push({ ...standing, node, store: store.kind });
    }
    const node = this.#control.nodeName?.() ?? null;
    return { coverage: await this.#coverageOf(fleet), node, store: kind, sharing, elsewhere };
  }

  get #store(): NodeStore {
    this.#ownStore ??= toNodeStore(this.#core.config);
    return this.#ownStore;
  }

  /** Undefined on nodes that can't have followers. */
  async #ask(question: NodeQuestion, waitMs: number): Promise<FleetAnswers | undefined> {
    return this.#control.feed?.questions.ask(question, waitMs);
  }

  async #coverageOf(fleet: FleetAnswers | undefined, leftOut = 0): Promise<Coverage | null> {
    if (fleet === undefined) return null;
    await this.#others.look();
    return toCoverage(fleet, this.#others.elsewhere?.nodes ?? 0, leftOut);
  }
}
