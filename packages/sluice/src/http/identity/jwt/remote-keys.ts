// Keys at a URL. They are fetched when first needed, again when they grow old, and when a token names a key that is
// not among them. Fetches run one at a time and some seconds apart, so a flood of tokens does not become a flood of fetches.
// While fetches fail the keys from before stay, for a stated time.

import { errors, type JWTVerifyGetKey } from "jose";
import type { Clock } from "../../../base/clock.js";

/** From the start of one fetch to the start of the next, whatever happens in between. */
export const FETCH_INTERVAL_MS = 10_000;
/** Tokens that may wait for a fetch; more are rejected immediately. */
const WAITING_MAX = 1_000;

/** There are no keys that may be used, and none can be fetched now. */
export class KeysUnavailable extends Error {}

/** Where keys come from, and how long they hold. */
export interface RemoteKeysOptions {
  /** The key set, ready and as a string; rejects if there is none. */
  readonly fetch: () => Promise<{ readonly keys: JWTVerifyGetKey; readonly text: string }>;
  readonly clock: Clock;
  /** After that they are fetched again, while they stay in use. */
  readonly maxAgeMs: number;
  /** How long they stay in use after the last fetch that succeeded. */
  readonly staleMs: number;
  /** Keys that were in force were replaced or dropped. */
  readonly onChanged: () => void;
  readonly onFailed: (error: Error) => void;
}

/** A key set that is kept up to date. */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions;
  #keys: JWTVerifyGetKey | undefined = undefined;
  #text: string | undefined = undefined;
  #fetchedMs = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | undefined = undefined;
  #waiting = 0;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
  }

  /** To be called before each use: keys that are old are fetched in the background, keys too old are dropped. */
  follow(): void {
    const { clock, maxAgeMs, staleMs } = this.#options;
    if (this.#keys === undefined) return;
    const ageMs = clock.now() - this.#fetchedMs;
    if (ageMs < maxAgeMs) return;
    this.fetch();
    if (ageMs < staleMs) return;
    this.#keys = undefined;
    this.#text = undefined;
    this.#options.onChanged();
  }

  /** The key for a token. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const before = this.#keys;
    if (before !== undefined) {
      try {
        return await before(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      }
    }
    await this.#wait();
    if (this.#keys === undefined) throw new KeysUnavailable();
    return this.#keys(header, token);
  };

  /** Starts a fetch, unless one is under way or the last began a short time ago. It never rejects. */
  fetch(): Promise<void> | undefined {
    const nowMs = this.#options.clock.now();
    if (this.#underWay !== undefined) return this.#underWay;
    if (nowMs - this.#startedMs < FETCH_INTERVAL_MS) return undefined;
    this.#startedMs = nowMs;
    this.#underWay = this.#fetchOnce().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #wait(): Promise<void> {
    if (this.#waiting >= WAITING_MAX) return;
    this.#waiting++;
    try {
      await this.fetch();
    } finally {
      this.#waiting--;
    }
  }

  async #fetchOnce(): Promise<void> {
    const { fetch, clock, onChanged, onFailed } = this.#options;
    try {
      const { keys, text } = await fetch();
      this.#fetchedMs = clock.now();
      if (text === this.#text) return;
      const isReplaced = this.#keys !== undefined;
      this.#keys = keys;
      this.#text = text;
      if (isReplaced) onChanged();
    } catch (error) {
      onFailed(error as Error);
    }
  }
}
