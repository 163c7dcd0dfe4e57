// The options of a limiter, and the counters that follow from them.

import type { EscalationTerms } from "../algorithms/escalation.js";
import { type Clock, toClock } from "../base/clock.js";
import { anyFunction, nonEmptyString, readOptions, refuse } from "../base/shapes/code-options.js";
import {
  anything,
  choice,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "../base/shapes/shapes.js";
import { isLimit, type Limit } from "../limits/limits.js";
import { type LimitOrRate, limitsInCode } from "../limits/rate.js";
import { anyStore } from "../stores/any-store.js";
import { type EscalateOptions, escalate } from "../stores/escalation/escalate-shape.js";
import { toGuarded } from "../stores/guarded.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { POLICIES, TIMEOUT_BOUNDS } from "../stores/resilient/resilient-options.js";
import type { Counter, FailurePolicy, Store } from "../stores/store.js";
import { claimName } from "./claimed-names.js";

/** Options of `createLimiter`. */
export interface LimiterOptions<S extends Store = Store> {
  /** One limit, or several that are decided all or nothing. A limit may be a rate such as `"100/minute"`. */
  limit: LimitOrRate | readonly LimitOrRate[];
  /** Where the counters are. Default: a memory store of its own. */
  store?: S;
  /** Default: monotonic time that started at the wall clock. */
  clock?: Clock;
  /**
   * Which counters of the store it uses; default `"default"`. Limiters of one name share their counters, in
   * other processes too. Within one process, different numbers under one name are an error until the first
   * limiter is closed, and so is a second limiter without a name. A limiter with the same name and algorithm
   * but other numbers takes over what was used.
   */
  name?: string;
  /**
   * What happens when a store behind a network does not answer: `"open"` admits, `"closed"` refuses,
   * `"local"` (default) decides in this process under half of each limit, `"throw"` rejects. Events
   * and finer settings: pass `resilient(store, { … })` as the store.
   */
  onStoreFailure?: FailurePolicy;
  /**
   * How long a store behind a network may take for a decision before `onStoreFailure` answers, in
   * whole milliseconds from 1 to 60,000; default 50. With `"throw"` there is no deadline unless this
   * is given. A store in this process answers synchronously, whatever this says. Counts before what
   * `resilient` was given.
   */
  timeoutMs?: number;
  /**
   * Blocks keys that keep being refused, for longer each time: `{ after: "20 refusals in 1m", blocks: ["1m", "10m"] }`.
   * Refusals of `check`, `reserve` and `acquire` count, by the limiter's clock; those of a block or a fallback don't. The
   * block and its level are in the store, and `unblock` ends both. Default: no key is blocked.
   */
  escalate?: EscalateOptions;
  /** Called when `escalate` has blocked a key, or when its store did not take a report. What it throws is dropped. */
  onEscalation?: (event: EscalationEvent) => unknown;
}

/** Something that `escalate` did: it blocked a key, or could not count refusals because its store did not answer. */
export type EscalationEvent =
  | {
      readonly kind: "escalated";
      readonly key: string;
      /** From 1. */
      readonly level: number;
      readonly blockMs: number;
    }
  | { readonly kind: "escalate-failed"; readonly error: unknown };

/** Options, validated and filled in. */
export interface LimiterSetup {
  readonly name: string;
  readonly counters: readonly Counter[];
  readonly store: Store;
  /** Whether the store was made for this limiter and goes with it. */
  readonly ownsStore: boolean;
  readonly clock: Clock;
  readonly escalate: EscalationTerms | undefined;
  readonly onEscalation: ((event: EscalationEvent) => unknown) | undefined;
  /** Gives the name up, so that another limiter over the same store can have it. */
  readonly releaseName: () => void;
}

const SITE = { name: "createLimiter", code: "SLUICE_OPTION_INVALID" } as const;

const OPTIONS = object({
  limit: required(limitsInCode),
  store: optional(anyStore),
  clock: optional(anything()),
  name: withDefault(nonEmptyString, "default"),
  onStoreFailure: optional(choice(POLICIES)),
  timeoutMs: optional(wholeNumber(TIMEOUT_BOUNDS)),
  escalate: optional(escalate),
  onEscalation: optional(anyFunction),
} satisfies Record<keyof LimiterOptions, unknown>);

/** Validates options and fills in defaults. */
export function toSetup(options: LimiterOptions): LimiterSetup {
  if (isLimit(options)) {
    refuse(SITE, `got a limit alone; write createLimiter({ limit: ${options.algorithm}(…) })`);
  }
  const given = readOptions(SITE, OPTIONS, options);
  // An option that is left out is not passed on, so that a decorator's own applies.
  const { name, limit: limits, onStoreFailure, timeoutMs } = given;
  const counters = limits.map((limit, part) => {
    // Not spread together: an object made so is slow to read, and each decision reads it.
    const counter: { -readonly [K in keyof Counter]: Counter[K] } = { scope: name, part, limit };
    if (onStoreFailure !== undefined) counter.onStoreFailure = onStoreFailure;
    if (timeoutMs !== undefined) counter.timeoutMs = timeoutMs;
    return Object.freeze(counter);
  });
  const bare = given.store === undefined ? memoryStore() : given.store;
  mustBeHeld(limits, bare);
  if (given.escalate !== undefined && bare.escalate === undefined) {
    refuse(SITE, "escalate needs a store with escalate(), and this one has none");
  }
  const clock = toClock(SITE, given.clock);
  const store = toGuarded(bare, { onStoreFailure, timeoutMs, clock });
  const ownsStore = given.store === undefined;
  const isAlone = options.name === undefined;
  const releaseName = ownsStore ? () => {} : claimName(SITE, bare, { name, limits, isAlone });
  const onEscalation = given.onEscalation as LimiterSetup["onEscalation"];
  const { escalate } = given;
  return { name, counters, store, ownsStore, clock, escalate, onEscalation, releaseName };
}

/** A sketch is counted in this process: a store that others share does not hold it. */
function mustBeHeld(limits: readonly Limit[], { isRemote, isGuarded }: Store): void {
  if (isRemote !== true && isGuarded !== true) return;
  if (!limits.some(({ algorithm }) => algorithm === "sketch")) return;
  refuse(
    SITE,
    "limit is a sketch, which is counted in memory and not in a shared store; leave store out",
  );
}
