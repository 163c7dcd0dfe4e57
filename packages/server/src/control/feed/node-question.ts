// What a control node asks its followers while an operator looks at a caller or at a draft: their samples, and how the
// caller stands in counters that only they have. Followers can't be reached, so the question comes with a heartbeat of
// the stream that they read, and the answer as a request of theirs.

import type { Facts } from "sluice/rules";
import type {
  SampledDecision,
  SampledFacts,
  SampledOutcome,
  SamplesQuery,
} from "../../telemetry/samples/sampled-decision.js";
import type { SampledKeys } from "../../telemetry/tally/key-sampling.js";

/** A question. */
export type NodeQuestion =
  | {
      /** All decisions about sampled keys of the last while. */
      readonly kind: "since";
      readonly spanMs: number;
      /** The newest so many. */
      readonly countMax: number;
    }
  | { readonly kind: "latest"; readonly query: SamplesQuery }
  | {
      /** How a request would be decided now. */
      readonly kind: "explain";
      readonly facts: Facts;
      /** Nodes that count in this store have nothing to add. */
      readonly exceptStore: string;
    };

/** A question as it is sent. */
export interface NodeAsk {
  /** By which the answer is recognised. */
  readonly id: string;
  readonly question: NodeQuestion;
}

/** Where a node counts. Two nodes with one id count together. */
export interface NodeStore {
  readonly kind: string;
  readonly id: string;
}

/** A decision, as far as it is needed to decide it again. */
export interface ReplayedSample {
  readonly atMs: number;
  readonly outcome: SampledOutcome;
  readonly facts: SampledFacts | null;
}

/** What a node kept. */
export interface NodeSamples {
  /** From when it is whole. */
  readonly fromMs: number;
  readonly keys: SampledKeys;
  /** The oldest first. */
  readonly samples: readonly ReplayedSample[];
}

/** A counter of a caller on a node. */
export interface NodeCounter {
  readonly rule: string;
  readonly key: string;
  readonly limit: number;
  readonly remaining: number;
  /** Null: never. */
  readonly resetMs: number | null;
  /** Whether the request would pass it. */
  readonly wouldPass: boolean;
  /** 0: it is not blocked; null: until it is unblocked. */
  readonly blockedMs: number | null;
}

/** How a request would be decided on a node. */
export interface NodeStanding {
  readonly allowed: boolean;
  readonly rule: string | null;
  readonly counters: readonly NodeCounter[];
}

/** What a node answers: its store, and what was asked for. */
export interface NodeAnswer {
  readonly id: string;
  /** Its wall clock, by which the times in the answer go. */
  readonly nowMs: number;
  readonly store: NodeStore;
  readonly since?: NodeSamples | undefined;
  readonly latest?: readonly SampledDecision[] | undefined;
  /** Left out if it counts in the store that was excepted. */
  readonly standing?: NodeStanding | undefined;
}

/** Answers a question on a node. */
export type AnswerQuestion = (ask: NodeAsk) => Promise<NodeAnswer>;

/** Bounds of an answer, for the node that makes it and the one that takes it. */
export const SINCE_COUNT_MAX = 6_000;
export const SINCE_CHARS_MAX = 2_000_000;
export const LATEST_COUNT_MAX = 100;
export const COUNTERS_MAX = 50;
export const ANSWER_BYTES_MAX = 6_291_456;
