// Which decisions are kept as samples. The choice is made by key, not by request: a key is in the sample if its hash is
// below a bound, and then every request that it is counted for is kept. So the sequence of a sampled key is whole, and
// it can be decided again under other rules. The bound follows the traffic, and a key that alone is more than the ring can
// take is left out.

import { createHash } from "node:crypto";
import { hashText, stateAfter } from "./distinct-keys.js";

/** Samples in one second from which fewer keys are sampled. */
export const PER_SECOND_MAX = 60;
/** Samples in one second below which more keys are. */
const PER_SECOND_MIN = 15;
/** The same within a second: a burst can't fill the ring before the second ends. */
const BURST_MAX = 2 * PER_SECOND_MAX;
/** Keys that are left out; further busy ones make the share smaller for all. */
const HOT_KEYS_MAX = 16;
/** How long a busy key stays left out, and how long changes of the share are remembered. */
export const SAMPLES_MS_MAX = 5 * 60_000;
const CHANGES_MAX = 1_000;
const HASHES = 2 ** 32;
const SECOND_MS = 1_000;

/** A change of the share. */
interface Change {
  readonly atMs: number;
  readonly below: number;
}

/** Which keys have whole sequences. Plain data, so that one process can send it to another. */
export interface WholeKeys {
  /** The share of keys, 0 to 1. */
  readonly share: number;
  /** Hashes of keys that were too busy to keep. */
  readonly hot: readonly number[];
}

/** The same with what hashes begin with, so that another node can ask about its keys. */
export interface SampledKeys extends WholeKeys {
  readonly seed: number;
}

/** Whether the sequence of a key is whole. */
export function isWholeKey(key: string, { seed, share, hot }: SampledKeys): boolean {
  const hash = hashText(key, seed);
  return hash < share * HASHES && !hot.includes(hash);
}

/** What sampling is made with. */
export interface KeySamplingOptions {
  /** What hashes begin with: the same in all processes of a service. */
  readonly seed: number;
  /** A monotonic reading, in milliseconds. */
  readonly readMs: () => number;
}

/** The seed that follows from a secret, so that processes which share the secret sample the same keys. */
export function toSeed(secret: string | Buffer): number {
  return createHash("sha256").update("sample").update(secret).digest().readUInt32LE();
}

/** Decides which decisions are kept. */
export class KeySampling {
  readonly #options: KeySamplingOptions;
  /** Keys with a hash below it are in the sample. */
  #below = HASHES;
  #changes: Change[];
  #hot: { readonly hash: number; readonly atMs: number }[] = [];
  #secondEndMs: number;
  /** As if `ip:` was hashed already. */
  readonly #addressSeed: number;
  /** How many were kept in this second. */
  #kept = 0;
  readonly #keptByHash = new Map<number, number>();
  // Of the decision that is being counted:
  #nowMs: number;
  #isWanted = false;
  #hasKey = false;
  #hash = 0;

  constructor(options: KeySamplingOptions) {
    this.#options = options;
    const nowMs = options.readMs();
    this.#nowMs = nowMs;
    this.#addressSeed = stateAfter("ip:", options.seed);
    this.#secondEndMs = nowMs + SECOND_MS;
    this.#changes = [{ atMs: nowMs, below: HASHES }];
  }

  /** The decisions that follow are made at this time. */
  moveTo(nowMs: number): void {
    if (nowMs >= this.#secondEndMs) this.#beginSecond(nowMs);
    this.#nowMs = nowMs;
  }

  /** A decision begins. */
  begin(): void {
    this.#isWanted = false;
    this.#hasKey = false;
  }

  /** A key of the decision, by its hash. */
  see(hash: number): void {
    this.#hasKey = true;
    this.#hash = hash;
    if (hash < this.#below && (this.#hot.length === 0 || !this.#isHot(hash))) this.#isWanted = true;
  }

  /** The address of a decision without keys, as if it was counted by it: no rule counted it, or it was refused before. */
  seeAddress(address: string | undefined): void {
    this.see(hashText(address ?? "", this.#addressSeed));
  }

  /** When the decision that was counted last was made. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whether it has a key in the sample. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Whether it has a key at all. */
  get hasKey(): boolean {
    return this.#hasKey;
  }

  /** The hash of its last key. */
  get hash(): number {
    return this.#hash;
  }

  /** What hashes begin with. */
  get seed(): number {
    return this.#options.seed;
  }

  /** The hash of a key. */
  hashOf(key: string): number {
    return hashText(key, this.#options.seed);
  }

  /** Counts a decision that was kept, by the hashes of its keys, and takes fewer if there are too many. */
  keep(hashes: readonly number[]): void {
    this.#kept++;
    for (const hash of hashes) {
      if (hash < this.#below) this.#keptByHash.set(hash, (this.#keptByHash.get(hash) ?? 0) + 1);
    }
    if (this.#kept >= BURST_MAX) this.#takeFewer(this.#options.readMs());
  }

  /** Which keys have been in the sample all the time since `sinceMs`, by the monotonic reading. */
  wholeSince(sinceMs: number): WholeKeys {
    let below = this.#below;
    for (let i = this.#changes.length - 1; i >= 0; i--) {
      below = Math.min(below, this.#changes[i].below);
      if (this.#changes[i].atMs <= sinceMs) break;
    }
    return { share: below / HASHES, hot: this.#hot.map(({ hash }) => hash) };
  }

  #isHot(wanted: number): boolean {
    for (const { hash } of this.#hot) if (hash === wanted) return true;
    return false;
  }

  #beginSecond(nowMs: number): void {
    const isNext = nowMs < this.#secondEndMs + SECOND_MS;
    if (this.#kept > PER_SECOND_MAX) this.#takeFewer(nowMs);
    else if ((this.#kept < PER_SECOND_MIN || !isNext) && this.#below < HASHES) {
      this.#setBelow(Math.min(HASHES, this.#below * 2), nowMs);
    }
    this.#forget(nowMs - SAMPLES_MS_MAX);
    this.#secondEndMs = nowMs + SECOND_MS;
    this.#kept = 0;
    this.#keptByHash.clear();
  }

  /** Leaves out the one key that is most of it, or half of all keys. */
  #takeFewer(nowMs: number): void {
    let hottest = 0;
    let most = 0;
    for (const [hash, count] of this.#keptByHash) if (count > most) [hottest, most] = [hash, count];
    const isOne = most > this.#kept / 2 && this.#hot.length < HOT_KEYS_MAX;
    if (isOne) this.#hot.push({ hash: hottest, atMs: nowMs });
    else this.#setBelow(this.#below / 2, nowMs);
    this.#kept = 0;
    this.#keptByHash.clear();
  }

  #setBelow(below: number, nowMs: number): void {
    this.#below = below;
    this.#changes.push({ atMs: nowMs, below });
    if (this.#changes.length > CHANGES_MAX) this.#changes.shift();
  }

  #forget(beforeMs: number): void {
    if (this.#hot.some(({ atMs }) => atMs < beforeMs)) {
      this.#hot = this.#hot.filter(({ atMs }) => atMs >= beforeMs);
    }
    // The last one before the window still holds in it.
    while (this.#changes.length > 1 && this.#changes[1].atMs < beforeMs) this.#changes.shift();
  }
}
