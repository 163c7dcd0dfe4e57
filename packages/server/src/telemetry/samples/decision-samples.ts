// The samples of this process: a ring of all decisions about sampled keys, for previews and history, and a ring of the
// latest refusals. A decision that is not kept makes no object and costs a few comparisons.

import type { Facts, Policy, PolicyDecision } from "sluice/rules";
import { boundOf, toOutcome } from "../log/decision-log.js";
import type { HashKey } from "../log/key-hash.js";
import {
  type CountedVerdict,
  type DecidedRequest,
  INLINE_RULE,
  type LimitVerdict,
  type ListenerName,
} from "../reported.js";
import { isWholeKey, type KeySampling, SAMPLES_MS_MAX } from "../tally/key-sampling.js";
import { toEndpoint } from "../tally/rule-meters.js";
import { NamesInRules } from "./fact-names.js";
import { RefusalQuota } from "./refusal-quota.js";
import { SampleRing } from "./sample-ring.js";
import { findLatest } from "./sample-search.js";
import type {
  SampledCharge,
  SampledDecision,
  SampledFacts,
  SampleReport,
  Samples,
  SamplesQuery,
} from "./sampled-decision.js";
import { charsOf, toSampledFacts } from "./to-sampled-facts.js";

/** Five minutes at the most that are kept in a second. */
const SAMPLES_BOUNDS = { countMax: 18_000, charsMax: 8_000_000 };
const REFUSALS_BOUNDS = { countMax: 1_000, charsMax: 1_000_000 };

/** What samples are made with. */
export interface DecisionSamplesOptions {
  readonly sampling: KeySampling;
  readonly hashKey: HashKey;
  /** Whose rules say which facts are kept. */
  readonly policies: () => Iterable<Policy>;
  /** A monotonic reading, in milliseconds. */
  readonly readMs: () => number;
  /** The wall clock, in milliseconds since 1970. */
  readonly wallMs: () => number;
  /** Receives what keeps a decision from being sampled: the decision stands, so its request must not fail. */
  readonly onError: (error: unknown) => void;
}

/** Keeps samples. Decisions have been counted before they are offered, so that their keys are known to the sampling. */
export class DecisionSamples implements Samples {
  readonly #options: DecisionSamplesOptions;
  readonly #sampling: KeySampling;
  readonly #names: NamesInRules;
  readonly #quota = new RefusalQuota();
  readonly #samples = new SampleRing<SampledDecision>(SAMPLES_BOUNDS);
  readonly #refusals = new SampleRing<SampledDecision>(REFUSALS_BOUNDS);
  readonly #startMs: number;

  constructor(options: DecisionSamplesOptions) {
    this.#options = options;
    this.#sampling = options.sampling;
    this.#names = new NamesInRules(options.policies);
    this.#startMs = options.wallMs();
  }

  /** Keeps a decision of a policy, if it is to be kept. Never throws. */
  offer(listener: ListenerName, decision: PolicyDecision, request: DecidedRequest): void {
    try {
      this.#offer(listener, decision, request);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Keeps a decision that no policy made, by what each limit said. Never throws. */
  offerLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void {
    try {
      this.#offerLimits(listener, isAllowed, limitVerdicts);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Keeps a decision by a limit that came with its request. Never throws. */
  offerInline(listener: ListenerName, key: string, cost: number, verdict: CountedVerdict): void {
    try {
      this.#offerInline(listener, key, cost, verdict);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  latest(query: SamplesQuery = {}): readonly SampledDecision[] {
    return findLatest([this.#refusals, this.#samples], query, this.#options.hashKey);
  }

  since(sinceMs: number): SampleReport {
    const { readMs, wallMs } = this.#options;
    const nowMs = wallMs();
    const beginMs = Math.max(sinceMs, nowMs - SAMPLES_MS_MAX);
    const samples: SampledDecision[] = [];
    for (const sample of this.#samples.newest()) {
      if (sample.atMs < beginMs) break;
      samples.push(sample);
    }
    const fromMs = Math.max(beginMs, this.#startMs, this.#samples.lastDropped?.atMs ?? 0);
    return {
      fromMs,
      whole: this.#sampling.wholeSince(readMs() - (nowMs - fromMs)),
      samples: samples.reverse(),
    };
  }

  isWhole(key: string, { whole }: Pick<SampleReport, "whole">): boolean {
    return isWholeKey(key, { ...whole, seed: this.seed });
  }

  get seed(): number {
    return this.#sampling.seed;
  }

  hashKey(key: string): string {
    return this.#options.hashKey(key);
  }

  #offer(listener: ListenerName, decision: PolicyDecision, request: DecidedRequest): void {
    const sampling = this.#sampling;
    if (!sampling.hasKey) sampling.seeAddress(toFacts(request).ip);
    const isRefusal = !decision.allowed && this.#quota.takes(sampling.hash, sampling.nowMs);
    if (!sampling.isWanted && !isRefusal) return;
    const facts = toSampledFacts(toFacts(request), this.#names.current, this.#options.hashKey);
    this.#keep(this.#toSample(listener, decision, facts), isRefusal);
  }

  #offerLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void {
    const sampling = this.#sampling;
    const isRefusal = !isAllowed && this.#quota.takes(sampling.hash, sampling.nowMs);
    if (!sampling.isWanted && !isRefusal) return;
    this.#keep(
      this.#toLimitSample(listener, isAllowed, limitVerdicts.map(toLimitCharge)),
      isRefusal,
    );
  }

  #offerInline(listener: ListenerName, key: string, cost: number, verdict: CountedVerdict): void {
    const sampling = this.#sampling;
    const isRefusal = !verdict.allowed && this.#quota.takes(sampling.hash, sampling.nowMs);
    if (!sampling.isWanted && !isRefusal) return;
    const charge = toLimitCharge({ rule: INLINE_RULE, key, cost, shadow: false, verdict });
    this.#keep(this.#toLimitSample(listener, verdict.allowed, [charge]), isRefusal);
  }

  #keep(sample: SampledDecision, isRefusal: boolean): void {
    const keys = sample.charges.map(({ key }) => key);
    const chars = keys.join().length + (sample.facts === null ? 0 : charsOf(sample.facts));
    if (isRefusal) this.#refusals.add(sample, chars);
    if (!this.#sampling.isWanted) return;
    this.#samples.add(sample, chars);
    const hashes = new Set(keys.map((key) => this.#sampling.hashOf(key)));
    this.#sampling.keep(hashes.size === 0 ? [this.#sampling.hash] : [...hashes]);
  }

  #toSample(
    listener: ListenerName,
    decision: PolicyDecision,
    facts: SampledFacts,
  ): SampledDecision {
    const charges: SampledCharge[] = [];
    decision.eachCharge(({ id: rule }, { key, units: cost, shadow, verdict }) => {
      const { allowed, limit, remaining, retryAfterMs } = verdict;
      charges.push({ rule, key, cost, shadow, allowed, limit, remaining, retryAfterMs });
    });
    const bound = boundOf(decision);
    const { limit, remaining, retryAfterMs, delayMs, version } = decision;
    return {
      atMs: this.#options.wallMs(),
      listener,
      outcome: toOutcome(decision),
      shadowBlocked: charges.some(isShadowBlocked),
      reason: decision.reason ?? null,
      rule: decision.rule ?? null,
      key: bound?.charge.key ?? null,
      endpoint: bound === undefined ? null : toEndpoint(bound.rule),
      cost: bound?.charge.units ?? 1,
      ...{ limit, remaining, retryAfterMs, delayMs, version },
      charges,
      facts,
    };
  }

  #toLimitSample(
    listener: ListenerName,
    isAllowed: boolean,
    charges: readonly SampledCharge[],
  ): SampledDecision {
    const bound = charges.find(({ allowed, shadow }) => !allowed && !shadow) ?? charges[0];
    return {
      atMs: this.#options.wallMs(),
      listener,
      outcome: isAllowed ? "allowed" : "blocked",
      shadowBlocked: charges.some(isShadowBlocked),
      reason: isAllowed ? null : "limit",
      rule: bound?.rule ?? null,
      key: bound?.key ?? null,
      endpoint: null,
      cost: bound?.cost ?? 1,
      limit: bound?.limit ?? Number.POSITIVE_INFINITY,
      remaining: bound?.remaining ?? Number.POSITIVE_INFINITY,
      retryAfterMs: bound?.retryAfterMs ?? 0,
      delayMs: 0,
      version: null,
      charges,
      facts: null,
    };
  }
}

function toFacts(request: DecidedRequest): Facts {
  return request.toFacts === undefined ? request : request.toFacts();
}

function isShadowBlocked({ shadow, allowed }: SampledCharge): boolean {
  return shadow && !allowed;
}

function toLimitCharge({
  rule,
  key,
  cost,
  shadow,
  verdict,
}: Omit<LimitVerdict, "keyType">): SampledCharge {
  const { allowed, limit, remaining, retryAfterMs } = verdict;
  return { rule, key, cost, shadow, allowed, limit, remaining, retryAfterMs };
}
