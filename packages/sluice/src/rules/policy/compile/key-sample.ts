// Detects rules whose keys never come back: a rule that counts by request id limits no caller. The keys with the
// smallest hashes are an even sample of all distinct keys, however often each one comes, and every visit of a sampled
// key is counted. Once enough was seen, the sample reports its result and is dropped, so that it costs nothing from
// then on. A rule that refuses, has few keys, or whose keys come back is done after 20,000 decisions; any other is
// watched until its keys have had time to come back. Only rules with traffic are watched, and a bounded number of them
// at a time.

import { spreadHash } from "../../../base/spread-hash.js";
import type { Rule } from "../../rule.js";

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** The size of a sample, in keys. */
const KEYS_MAX = 256;
/** The most rules watched at the same time; the others have their turn when one of these is done. */
const SAMPLES_MAX = 64;
/** A rule is watched from this decision on: one that hardly matches would only keep others waiting. */
const DECISIONS_BEFORE = 1_000;
/** Fewer decisions say nothing. */
const DECISIONS_MIN = 20_000;
/** Keys of longer limits may come back too late to wait for. */
const WATCH_MS_MAX = 3_600_000;
/** A rule is useless if no more of its keys than this come back within its recovery time. */
const SHARE_MAX = 0.01;
/**
 * A rule counts as useful once this share of its sampled keys has come back. Later traffic could lower the share; to
 * watch for that is not worth what it costs.
 */
const SHARE_ENOUGH = 0.1;
/** Apart from the hashes that choose shards and rollouts, which would bias the sample. */
const SALT = 0x5a3c;

/** What a sample found. */
export interface SampleFinding {
  readonly isUseless: boolean;
  readonly keysSeen: number;
  readonly seenTwice: number;
}

/** Notes a key that comes under a rule, until it is known whether keys come back. */
export function watchKey<R extends { sample: KeySample | undefined }>(
  rule: R,
  key: string,
  nowMs: number,
  onSampled: (rule: R, finding: SampleFinding) => void,
): void {
  const finding = rule.sample?.see(key, nowMs);
  if (finding === undefined) return;
  rule.sample = undefined;
  onSampled(rule, finding);
}

/** How many rules of a set are watched at the same time. */
export class SampleBudget {
  #open = 0;

  /** Takes a place; false if there is none. */
  take(): boolean {
    if (this.#open >= SAMPLES_MAX) return false;
    this.#open++;
    return true;
  }

  release(): void {
    this.#open--;
  }
}

/** An even sample of the keys of one rule. */
export class KeySample {
  readonly #recoveryMs: number;
  readonly #budget: SampleBudget;
  /** The smallest hashes, in order; undefined until the rule has its turn. */
  #hashes: number[] | undefined;
  /** How often each of them came. */
  #visits: number[] = NO_VISITS;
  /** How many of them came more than once. */
  #seenTwice = 0;
  #decisions = 0;
  #startMs = 0;
  #hasRefused = false;

  constructor(recoveryMs: number, budget: SampleBudget) {
    this.#recoveryMs = recoveryMs;
    this.#budget = budget;
  }

  /** The sample of a rule; undefined if it has one key only, which is bound to come back. */
  static of({ key, limits }: Rule, budget: SampleBudget): KeySample | undefined {
    if (key.every(({ kind }) => kind === "global")) return undefined;
    const recoveryMs = limits.reduce((ms, limit) => Math.max(ms, limit.recoveryMs), 1);
    return new KeySample(recoveryMs, budget);
  }

  /** Notes a visit. Returns what was found once enough was seen; the sample is then at its end. */
  see(key: string, nowMs: number): SampleFinding | undefined {
    this.#decisions++;
    if (this.#hashes === undefined && !this.#begin(nowMs)) return undefined;
    if (isLookedAt(key)) this.#count(spreadHash(key, SALT));
    if (this.#decisions < DECISIONS_MIN) return undefined;
    const watchedMs = nowMs - this.#startMs;
    if (this.#mayBeUseless && watchedMs < Math.min(this.#recoveryMs, WATCH_MS_MAX))
      return undefined;
    this.#budget.release();
    return this.#find(watchedMs);
  }

  get #mayBeUseless(): boolean {
    const isFull = this.#visits.length === KEYS_MAX;
    return isFull && !this.#hasRefused && this.#seenTwice < KEYS_MAX * SHARE_ENOUGH;
  }

  /** A rule that refuses is useful, whichever other keys never come back. */
  noteRefusal(): void {
    this.#hasRefused = true;
  }

  #begin(nowMs: number): boolean {
    if (this.#decisions < DECISIONS_BEFORE || !this.#budget.take()) return false;
    this.#decisions = DECISIONS_BEFORE;
    this.#hashes = [];
    this.#visits = [];
    this.#startMs = nowMs;
    return true;
  }

  #count(hash: number): void {
    const hashes = this.#hashes as number[];
    if (hashes.length === KEYS_MAX && hash > hashes[KEYS_MAX - 1]) return;
    const place = placeOf(hashes, hash);
    if (hashes[place] === hash) {
      if (this.#visits[place]++ === 1) this.#seenTwice++;
      return;
    }
    hashes.splice(place, 0, hash);
    this.#visits.splice(place, 0, 1);
    if (hashes.length <= KEYS_MAX) return;
    hashes.pop();
    if ((this.#visits.pop() as number) > 1) this.#seenTwice--;
  }

  #find(watchedMs: number): SampleFinding {
    const [keysSeen, seenTwice] = [this.#visits.length, this.#seenTwice];
    // Who was watched for an hour of a month had little time to come back.
    const share = SHARE_MAX * Math.min(1, watchedMs / this.#recoveryMs);
    return {
      isUseless: this.#mayBeUseless && seenTwice <= keysSeen * share,
      keysSeen,
      seenTwice,
    };
  }
}

const NO_VISITS: number[] = [];

/** The index of a number in a sorted list, or where it would be inserted. */
function placeOf(sorted: readonly number[], wanted: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * One key in eight, by a few of its characters: which costs less than to hash them all. It is always the
 * same keys, so none of their visits is missed. Keys that end alike may all be left out; nothing is
 * said of them then.
 */
function isLookedAt(key: string): boolean {
  const end = key.length - 1;
  const mixed =
    charCodeAt.call(key, end) ^
    (charCodeAt.call(key, end - 1) * 5) ^
    charCodeAt.call(key, end >> 1);
  return (mixed & 7) === 0;
}
