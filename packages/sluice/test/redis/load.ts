// Traffic that continues while a test breaks servers: callers that ask one check after the other, over a
// few keys in turn, and a record of all that was answered.

import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Decision, Limiter } from "../../src/index.js";

/** What traffic needs. */
export interface LoadOptions {
  readonly limiter: Limiter<false>;
  readonly keys: readonly string[];
  /** Checks that are under way at the same time; default 8. */
  readonly concurrency?: number;
  /** A pause between two checks of a caller, in milliseconds; default 0: the next turn. */
  readonly pauseMs?: number;
}

/** Traffic that runs until it is stopped. */
export class Load {
  /** Decisions by where they came from. */
  readonly sources: Record<string, number> = {};
  /** What the store itself admitted, by key. */
  readonly admitted = new Map<string, number>();
  readonly rejections: unknown[] = [];
  slowestMs = 0;
  readonly #options: LoadOptions;
  readonly #callers: Promise<void>[];
  #isStopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    const { concurrency = 8 } = options;
    this.#callers = Array.from({ length: concurrency }, (_, caller) => this.#run(caller));
  }

  /** Lets it run for a while, or until `isEnough`, and at most for `msMax`. */
  async runFor(msMax: number, isEnough: () => boolean = () => false): Promise<void> {
    const endMs = performance.now() + msMax;
    while (performance.now() < endMs && !isEnough()) await sleep(5);
  }

  /** Ends it when every check that is under way is answered. */
  async stop(): Promise<this> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
    return this;
  }

  /** The most that the store admitted of one key. */
  get admittedMax(): number {
    return Math.max(0, ...this.admitted.values());
  }

  async #run(caller: number): Promise<void> {
    const { limiter, keys, pauseMs = 0 } = this.#options;
    for (let i = caller; !this.#isStopped; i++) {
      const key = keys[i % keys.length] as string;
      const startMs = performance.now();
      try {
        this.#count(key, await limiter.check(key));
      } catch (error) {
        this.rejections.push(error);
      }
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startMs);
      // An answer without a promise must not keep the sockets waiting.
      await (pauseMs === 0 ? nextTurn() : sleep(pauseMs));
    }
  }

  #count(key: string, { allowed, source }: Decision): void {
    this.sources[source] = (this.sources[source] ?? 0) + 1;
    if (!allowed || source !== "store") return;
    this.admitted.set(key, (this.admitted.get(key) ?? 0) + 1);
  }
}

/** Names of this many callers. */
export function callers(count: number, kind = "user"): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${kind}:${i}`);
}
