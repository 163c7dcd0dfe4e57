// What the tests of the resilient store stand on: a store whose answers a test gives, one by one or
// all alike, around a real memory store.

import type { Clock } from "../src/base/clock.js";
import type { MaybePromise } from "../src/base/maybe-promise.js";
import { fixedWindow, type Limit } from "../src/limits/limits.js";
import { ForwardingStore } from "../src/stores/forwarding-store.js";
import { type MemoryStore, memoryStore } from "../src/stores/memory/memory-store.js";
import type { FallbackEvent } from "../src/stores/resilient/fallback/fallback-events.js";
import { type ResilientStore, resilient } from "../src/stores/resilient/resilient.js";
import type { ResilientOptions } from "../src/stores/resilient/resilient-options.js";
import type { Charge, Counter, FailurePolicy, Store } from "../src/stores/store.js";
import { ManualClock } from "../src/testing/manual-clock.js";

/** How a store answers: a tick later, synchronously, not until asked to, with an error or by throwing one. */
export type Mood = "later" | "prompt" | "silent" | "failing" | "throwing";

/** A call that waits for its answer. */
export interface Call {
  readonly verb: string;
  readonly args: readonly unknown[];
  /** Whether it has been given no answer yet. */
  readonly isWaiting: boolean;
  /** Runs it now and sends its answer. */
  answer(): void;
  fail(error: unknown): void;
}

const REFUSED = new Error("connection refused");

/** A store under control. */
export class MoodyStore extends ForwardingStore {
  mood: Mood = "later";
  /** What it fails with. Default: an error of its own each time, as of calls that fail apart. */
  error: unknown = REFUSED;
  /** All calls, the latest last. */
  readonly calls: Call[] = [];
  readonly #isRemote: boolean;

  constructor(inner: Store, isRemote = true) {
    super(inner);
    this.#isRemote = isRemote;
    for (const verb of VERBS) {
      const run = (super[verb] as (...args: unknown[]) => MaybePromise<unknown>).bind(this);
      Object.assign(this, {
        [verb]: (...args: unknown[]) => this.#call(verb, args, () => run(...args)),
      });
    }
  }

  override get isRemote(): boolean {
    return this.#isRemote;
  }

  /** The latest call. */
  get last(): Call {
    return this.calls[this.calls.length - 1];
  }

  verbs(): string[] {
    return this.calls.map(({ verb }) => verb);
  }

  #failure(): unknown {
    return this.error === REFUSED ? new Error(REFUSED.message) : this.error;
  }

  #call(verb: string, args: readonly unknown[], run: () => MaybePromise<unknown>): unknown {
    const isWaiting = this.mood === "silent";
    const call = { verb, args, isWaiting, answer: () => {}, fail: (_error: unknown) => {} };
    this.calls.push(call);
    if (this.mood === "prompt") return run();
    if (this.mood === "throwing") throw this.#failure();
    const answer = new Promise((resolve, reject) => {
      call.answer = () => {
        call.isWaiting = false;
        resolve(run());
      };
      call.fail = (error) => {
        call.isWaiting = false;
        reject(error);
      };
    });
    if (this.mood === "later") call.answer();
    if (this.mood === "failing") call.fail(this.#failure());
    return answer;
  }
}

const VERBS = [
  "decide",
  "peek",
  "debit",
  "settle",
  "refund",
  "block",
  "unblock",
  "reset",
  "close",
] as const;

/** A resilient store around a moody one around memory. */
export interface ResilientStand {
  readonly clock: ManualClock;
  readonly memory: MemoryStore;
  readonly inner: MoodyStore;
  readonly store: ResilientStore;
  readonly events: FallbackEvent[];
  /** Lets promises run until nothing is left to do. */
  settled(): Promise<void>;
  /** Fails until the breaker opens. */
  breakDown(): Promise<void>;
}

/** Makes a stand. */
export function standOn(options: ResilientOptions & { isRemote?: boolean } = {}): ResilientStand {
  const { isRemote = true, ...rest } = options;
  const clock = new ManualClock(5_000_000);
  const memory = memoryStore({ keysMax: 1_000 });
  const inner = new MoodyStore(memory, isRemote);
  const events: FallbackEvent[] = [];
  const onEvent = (event: FallbackEvent) => events.push(event);
  const store = resilient(inner, { clock: clock as Clock, onEvent, ...rest });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const breakDown = async () => {
    const { mood } = inner;
    inner.mood = "failing";
    const open = toCounter({ scope: "breaking", onStoreFailure: "open" });
    for (let i = 0; store.stats.state === "closed" && i < 10; i++)
      await store.decide([toCharge(open)]);
    inner.mood = mood;
  };
  return { clock, memory, inner, store, events, settled, breakDown };
}

/** A counter of ten in ten seconds, if not said otherwise. */
export function toCounter({
  scope = "test",
  limit = fixedWindow({ limit: 10, windowMs: 10_000 }),
  onStoreFailure,
}: {
  scope?: string;
  limit?: Limit;
  onStoreFailure?: FailurePolicy;
} = {}): Counter {
  return { scope, part: 0, limit, ...(onStoreFailure === undefined ? {} : { onStoreFailure }) };
}

/** A charge of one at the time at which stands begin, if not said otherwise. */
export function toCharge(
  counter: Counter,
  { cost = 1, key = "k", nowMs = 5_000_000, shadow = false } = {},
): Charge {
  return { counter, key, cost, nowMs, ...(shadow ? { shadow } : {}) };
}
