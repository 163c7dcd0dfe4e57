// Samples of several nodes as a preview needs them: by the place that they were counted in, each place from when on it
// is whole, and which of its keys are.

import type { NodeSamples, ReplayedSample } from "../../control/feed/node-question.js";
import { isWholeKey } from "../../telemetry/tally/key-sampling.js";

/** Places that a preview replays: each has the rules compiled for it. */
export const PLACES_MAX = 16;

/** The samples of one node. */
export interface SamplesOfNode extends NodeSamples {
  /** The id of its store. */
  readonly place: string;
}

/** A sample with the place that it was counted in. */
export interface PlacedSample extends ReplayedSample {
  readonly place: string;
}

/** The samples of a fleet. */
export interface FleetSamples {
  /** From when on there are samples. */
  readonly fromMs: number;
  /** The share of keys that are sampled, 0 to 1: that of the node with the fewest. */
  readonly keysShare: number;
  /** Those of each place together, the oldest first. */
  readonly samples: readonly PlacedSample[];
  /** Nodes whose samples are left out, since there are too many places. */
  readonly nodesLeftOut: number;
  /** Whether all requests of a key at the place of a sample are among the samples. */
  isWhole(key: string, sample: { readonly place?: string | undefined }): boolean;
}

/** Puts the samples of nodes together. */
export function toFleetSamples(nodes: readonly SamplesOfNode[]): FleetSamples {
  const byPlace = groupByPlace(nodes);
  const busiest = [...byPlace].sort(([, a], [, b]) => countOf(b) - countOf(a));
  const places = new Map(busiest.slice(0, PLACES_MAX));
  const shown = [...places.values()].flat();
  return {
    fromMs: Math.min(...[...places.values()].map(beginOf)),
    keysShare: Math.min(1, ...shown.map(({ keys }) => keys.share)),
    samples: [...places].flatMap(([place, own]) => samplesOf(place, own)),
    nodesLeftOut: nodes.length - shown.length,
    isWhole: (key, { place = "" }) =>
      (places.get(place) ?? []).every(({ keys }) => isWholeKey(key, keys)),
  };
}

function groupByPlace(nodes: readonly SamplesOfNode[]): Map<string, SamplesOfNode[]> {
  const byPlace = new Map<string, SamplesOfNode[]>();
  for (const node of nodes) byPlace.set(node.place, [...(byPlace.get(node.place) ?? []), node]);
  return byPlace;
}

function countOf(nodes: readonly SamplesOfNode[]): number {
  return nodes.reduce((sum, { samples }) => sum + samples.length, 0);
}

/** Its keys may be spread over its nodes: it is whole when each node is. */
function beginOf(nodes: readonly SamplesOfNode[]): number {
  return Math.max(...nodes.map(({ fromMs }) => fromMs));
}

function samplesOf(place: string, nodes: readonly SamplesOfNode[]): PlacedSample[] {
  const fromMs = beginOf(nodes);
  return nodes
    .flatMap(({ samples }) => samples)
    .filter(({ atMs }) => atMs >= fromMs)
    .sort((a, b) => a.atMs - b.atMs)
    .map((sample) => ({ ...sample, place }));
}
