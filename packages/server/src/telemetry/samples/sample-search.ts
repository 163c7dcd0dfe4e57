// Finds samples for a reader, and hides what the reader may not see: keys are hashed and facts left out.

import type { HashKey } from "../log/key-hash.js";
import type { SampleRing } from "./sample-ring.js";
import {
  LATEST_SAMPLES,
  type SampledCharge,
  type SampledDecision,
  type SamplesQuery,
} from "./sampled-decision.js";

/** The newest samples in several rings that a query asks for, each once. */
export function findLatest(
  rings: readonly SampleRing<SampledDecision>[],
  query: SamplesQuery,
  hashKey: HashKey,
): readonly SampledDecision[] {
  const { limit = LATEST_SAMPLES, showsKeys = false } = query;
  const isAsked = toFilter(query, hashKey);
  const found = new Set<SampledDecision>();
  for (const ring of rings) {
    let count = 0;
    for (const sample of ring.newest()) {
      if (count >= limit) break;
      if (!isAsked(sample)) continue;
      found.add(sample);
      count++;
    }
  }
  const newest = sortNewest([...found]).slice(0, limit);
  return showsKeys ? newest : newest.map((sample) => hide(sample, hashKey));
}

/** Samples in clear of another node, as a reader of this one may see them: by its hashes, and filtered by them. */
export function hideOthers(
  samples: readonly SampledDecision[],
  query: SamplesQuery,
  hashKey: HashKey,
): readonly SampledDecision[] {
  return samples.filter(toFilter(query, hashKey)).map((sample) => hide(sample, hashKey));
}

/** The newest first. */
export function sortNewest<S extends SampledDecision>(samples: S[]): S[] {
  return samples.sort((a, b) => b.atMs - a.atMs);
}

function toFilter(
  { rule, key, outcome, showsKeys = false }: SamplesQuery,
  hashKey: HashKey,
): (sample: SampledDecision) => boolean {
  // Who may not see keys can't find out by guessing either.
  const isKey = (own: string) => (showsKeys && own === key) || hashKey(own) === key;
  const isOfCharge = (charge: SampledCharge) =>
    (rule === undefined || charge.rule === rule) && (key === undefined || isKey(charge.key));
  return (sample) => {
    if (outcome !== undefined && sample.outcome !== outcome) return false;
    if (rule === undefined && key === undefined) return true;
    const isRefusing = key === undefined && sample.rule === rule;
    return isRefusing || sample.charges.some(isOfCharge);
  };
}

function hide(sample: SampledDecision, hashKey: HashKey): SampledDecision {
  return {
    ...sample,
    key: sample.key === null ? null : hashKey(sample.key),
    charges: sample.charges.map((charge) => ({ ...charge, key: hashKey(charge.key) })),
    facts: null,
  };
}
