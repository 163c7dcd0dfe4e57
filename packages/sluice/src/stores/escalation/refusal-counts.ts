// Counts refusals in this process and reports them to a store in batches, so that a flood of refusals which never reaches
// the store costs an addition each. A key is reported as soon as this process alone has seen enough refusals of it, and
// otherwise once a second: a caller that spreads over processes is blocked at most a second, and the time of a call,
// later than one that meets a single process.

import type { EscalationTerms } from "../../algorithms/escalation.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { type CancelTimer, type Clock, startTimer, toWholeMs } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { isThenable, type MaybePromise, notify } from "../../base/maybe-promise.js";
import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type { Store } from "../store.js";

/** How often refusals are reported. */
export const REPORT_MS = 1_000;
/** The most keys that are counted; beyond it those whose count began first are forgotten. About 300 bytes each. */
const KEYS_MAX = 20_000;
/** The most keys in one call of a store. */
const BATCH_MAX = 128;

/** Whose refusals are counted, and where they are reported. */
export interface EscalationPlace {
  readonly store: Store;
  /** Names the limiter or rule. */
  readonly scope: string;
  /** Every scope in which its keys are counted. */
  readonly blockScopes: readonly string[];
  readonly terms: EscalationTerms;
}

/** A key whose level was raised. */
export interface RaisedKey extends Pick<Escalated, "level" | "blockMs"> {
  readonly scope: string;
  /** As it is counted: hash it before it is logged. */
  readonly key: string;
}

/** What counting needs. */
export interface RefusalCountsOptions {
  readonly clock: Clock;
  /** Called with each key whose level was raised. What it throws is dropped. */
  readonly onRaised: (raised: RaisedKey) => unknown;
  /** Called when a store did not take a report. What it throws is dropped. */
  readonly onFailed: (error: unknown, scopes: readonly string[]) => unknown;
}

/** The refusals of one key that were not reported yet. */
interface Counted {
  readonly place: EscalationPlace;
  readonly key: string;
  readonly blockScopes: readonly string[];
  refusals: number;
  firstMs: number;
  latestMs: number;
  /** So many refusals raise the level, as far as this process knows. */
  refusalsLeft: number;
  isAsked: boolean;
}

/**
 * Whether a refusal counts. What a block refuses does not, and neither does what a fallback refuses: a store that is away
 * says nothing about the caller.
 */
export function isCounted({ allowed, blockedMs, source }: Verdict): boolean {
  return !allowed && blockedMs === undefined && source !== "fallback";
}

/** Counts refusals and reports them. */
export class RefusalCounts {
  readonly #options: RefusalCountsOptions;
  readonly #counted = new BoundedMap<string, Counted>(KEYS_MAX);
  #stopTimer: CancelTimer | undefined;
  #isReporting = false;
  #isClosed = false;

  constructor(options: RefusalCountsOptions) {
    this.#options = options;
  }

  /** Keys that are counted now. */
  get keys(): number {
    return this.#counted.size;
  }

  /** Counts a refusal. `scope` is where the request was counted. */
  note(place: EscalationPlace, key: string, scope: string, nowMs: number): void {
    // A scope has no line breaks, so no two names are alike.
    const name = `${place.scope}\n${key}`;
    let counted = this.#counted.get(name);
    if (counted === undefined || counted.place !== place) {
      counted = newCount(place, key, scope, nowMs);
      this.#counted.set(name, counted);
    }
    if (counted.refusals === 0) counted.firstMs = nowMs;
    counted.refusals++;
    counted.latestMs = nowMs;
    if (counted.refusals >= counted.refusalsLeft && !counted.isAsked) this.#report([counted]);
    else if (this.#stopTimer === undefined) this.#startTimer();
  }

  /** Reports no more. What was not reported is forgotten. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#counted.clear();
  }

  #startTimer(): void {
    if (this.#isClosed) return;
    this.#stopTimer = startTimer(this.#options.clock, REPORT_MS, () => {
      this.#stopTimer = undefined;
      void this.#reportAll();
    });
  }

  async #reportAll(): Promise<void> {
    if (!this.#isReporting) {
      this.#isReporting = true;
      try {
        for (const batch of toBatches(this.#due())) await this.#report(batch);
      } finally {
        this.#isReporting = false;
      }
    }
    if (this.#counted.size > 0 && this.#stopTimer === undefined) this.#startTimer();
  }

  /** The keys that have something to report. Forgets those that were not refused for a whole window. */
  #due(): readonly Counted[] {
    const nowMs = this.#nowMs();
    const due: Counted[] = [];
    for (const [name, counted] of this.#counted) {
      if (counted.refusals > 0) {
        if (!counted.isAsked) due.push(counted);
      } else if (nowMs - counted.latestMs >= counted.place.terms.windowMs) {
        this.#counted.delete(name);
      }
    }
    return due;
  }

  /** Never throws or rejects. Counts that a store did not take are dropped: it may have taken them. */
  #report(batch: readonly Counted[]): MaybePromise<void> {
    const nowMs = this.#nowMs();
    const reports = batch.map((counted) => toReport(counted, nowMs));
    for (const counted of batch) {
      counted.refusals = 0;
      counted.isAsked = true;
    }
    const learn = (answers: readonly Escalated[]) => {
      for (const [i, counted] of batch.entries()) this.#learn(counted, answers[i]);
    };
    const fail = (error: unknown) => this.#fail(batch, error);
    try {
      const answers = batch[0].place.store.escalate?.(reports) ?? [];
      if (isThenable(answers)) return Promise.resolve(answers).then(learn).catch(fail);
      learn(answers);
    } catch (error) {
      fail(error);
    }
    return undefined;
  }

  #learn(counted: Counted, answer: Escalated | undefined): void {
    counted.isAsked = false;
    if (answer === undefined) return;
    const { place, key } = counted;
    const { level, blockMs, refusalsLeft } = answer;
    counted.refusalsLeft = refusalsLeft;
    if (blockMs === 0) return;
    // The block also covers what was refused while the report was on its way.
    this.#counted.delete(`${place.scope}\n${key}`);
    notify(() => this.#options.onRaised({ scope: place.scope, key, level, blockMs }));
  }

  #fail(batch: readonly Counted[], error: unknown): void {
    for (const counted of batch) counted.isAsked = false;
    if (this.#isClosed) return;
    const scopes = [...new Set(batch.map(({ place }) => place.scope))];
    notify(() => this.#options.onFailed(error, scopes));
  }

  #nowMs(): number {
    return toWholeMs(this.#options.clock.now());
  }
}

function newCount(place: EscalationPlace, key: string, scope: string, nowMs: number): Counted {
  const { blockScopes, terms } = place;
  return {
    place,
    key,
    blockScopes: blockScopes.includes(scope) ? blockScopes : [...blockScopes, scope],
    refusals: 0,
    firstMs: nowMs,
    latestMs: nowMs,
    refusalsLeft: terms.refusals,
    isAsked: false,
  };
}

function toReport(
  { place, key, blockScopes, refusals, firstMs }: Counted,
  nowMs: number,
): RefusalReport {
  const { scope, terms } = place;
  const ageMs = Math.max(0, nowMs - firstMs);
  return { scope, key, blockScopes, terms, refusals, ageMs, nowMs };
}

/** Lists of keys of one store, short enough for one call. */
function toBatches(counted: readonly Counted[]): readonly (readonly Counted[])[] {
  const batches: Counted[][] = [];
  const open = new Map<Store, Counted[]>();
  for (const each of counted) {
    let batch = open.get(each.place.store);
    if (batch === undefined || batch.length === BATCH_MAX) {
      batch = [];
      open.set(each.place.store, batch);
      batches.push(batch);
    }
    batch.push(each);
  }
  return batches;
}
