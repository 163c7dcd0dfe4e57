// Whether the keys of a rule come back at all: one that counts by request ids limits nobody. The keys
// with the smallest hashes are an even sample of all different ones, however often each comes, and of
// these each visit is counted. Once enough was seen the sample says its word, and is dropped: from
// then on the question costs nothing.

import { spreadHash } from "../algorithms/spread-hash.js";
import type { Rule } from "./rule.js";

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** So many keys are watched. */
const KEYS_MAX = 256;
/** Fewer decisions say nothing. */
const DECISIONS_MIN = 20_000;
/** Keys of longer limits come back later than anybody wants to wait. */
const WATCH_MS_MAX = 3_600_000;
/** A rule is useless if no more of its keys than this come back within its recovery time. */
const SHARE_MAX = 0.01;
/** Apart from the hashes that choose shards and rollouts, which would bias the sample. */
const SALT = 0x5a3c;

/** What a sample found. */
export interface SampleFinding {
  readonly isUseless: boolean;
  readonly keysSeen: number;
  readonly seenTwice: number;
}

/** An even sample of the keys of one rule. */
export class KeySample {
  readonly #recoveryMs: number;
  readonly #visits = new Map<number, number>();
  #decisions = 0;
  #startMs = -1;
  /** Keys with a larger hash are not of the sample. */
  #largest = Number.POSITIVE_INFINITY;

  constructor(recoveryMs: number) {
    this.#recoveryMs = recoveryMs;
  }

  /** The sample of a rule; undefined if it has one key only, which is bound to come back. */
  static of({ key, limits }: Rule): KeySample | undefined {
    if (key.every(({ kind }) => kind === "global")) return undefined;
    return new KeySample(limits.reduce((ms, limit) => Math.max(ms, limit.recoveryMs), 1));
  }

  /** Notes a visit. Returns what was found once enough was seen; the sample is then at its end. */
  see(key: string, nowMs: number): SampleFinding | undefined {
    if (isLookedAt(key)) this.#count(spreadHash(key, SALT));
    this.#decisions++;
    if (this.#startMs < 0) this.#startMs = nowMs;
    if (this.#decisions < DECISIONS_MIN) return undefined;
    const watchedMs = nowMs - this.#startMs;
    return watchedMs < Math.min(this.#recoveryMs, WATCH_MS_MAX) ? undefined : this.#find(watchedMs);
  }

  #count(hash: number): void {
    if (hash > this.#largest) return;
    const visits = this.#visits.get(hash) ?? 0;
    this.#visits.set(hash, visits + 1);
    if (visits > 0 || this.#visits.size < KEYS_MAX) return;
    if (this.#visits.size > KEYS_MAX) this.#visits.delete(this.#largest);
    this.#largest = Math.max(...this.#visits.keys());
  }

  #find(watchedMs: number): SampleFinding {
    const keysSeen = this.#visits.size;
    let seenTwice = 0;
    for (const visits of this.#visits.values()) if (visits > 1) seenTwice++;
    // Who was watched for an hour of a month had little time to come back.
    const share = SHARE_MAX * Math.min(1, watchedMs / this.#recoveryMs);
    return {
      isUseless: keysSeen === KEYS_MAX && seenTwice <= keysSeen * share,
      keysSeen,
      seenTwice,
    };
  }
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
