// Shards: a limit that all callers share, cut into N counters under keys of their own, so that a
// Cluster spreads a hot key over its nodes. Each caller always meets the same shard. The parts add up
// to the limit, so it is never exceeded; a caller whose shard is full is refused early.

import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { readOptions } from "../../base/shapes/code-options.js";
import { object, required, wholeNumber } from "../../base/shapes/shapes.js";
import { spreadHash } from "../../base/spread-hash.js";
import type { Limit } from "../../limits/limits.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  Store,
} from "../store.js";
import { splitLimit } from "./split-limit.js";

/** Options of {@link sharded}. */
export interface ShardedOptions {
  /** Into how many counters each limit is cut: 1 to 1,024, and no more than the limit has units. */
  shards: number;
}

const SITE = { name: "sharded", code: "SLUICE_OPTION_INVALID" } as const;
const SHARDS_MAX = 1_024;
const OPTIONS = object({ shards: required(wholeNumber({ min: 1, max: SHARDS_MAX })) });

/** A store that cuts each limit into shards. Made by {@link sharded}. */
export class ShardedStore extends ForwardingStore {
  readonly #shards: number;
  readonly #limits = new WeakMap<Limit, readonly Limit[]>();
  readonly #counters = new WeakMap<Counter, readonly Counter[]>();
  /** The shard of the next request that names no caller. */
  #next = 0;

  constructor(store: Store, options: ShardedOptions) {
    super(store);
    this.#shards = readOptions(SITE, OPTIONS, options).shards;
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    const shard = this.#takeTurn();
    const part = this.#countersOf(counter)[shard];
    return super.decideOne(part, this.#keyOf(key, shard), cost, nowMs, blockNowMs);
  }

  /** All charges without a caller go to one shard: that of the request's id, or the next in turn. */
  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    const requestId = options?.requestId;
    const shared = requestId === undefined ? this.#takeTurn() : this.#shardOf(requestId);
    const parts = charges.map((charge) => this.#toPart(charge, this.#route(charge) ?? shared));
    return this.inner.decide(parts, options);
  }

  /** For a charge without a caller: what all shards together have left, and the first to admit it. */
  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    const parts = charges.map((charge) => this.#toParts(charge));
    return andThen(this.inner.peek(parts.flat(), options), (verdicts) =>
      gather(parts, verdicts, joinVerdicts),
    );
  }

  /** Without a caller the next shard in turn is charged, and all are reported together. */
  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    const parts = charges.map((charge) => {
      const shard = this.#takeTurn();
      const all = this.#toParts(charge);
      return all.length === 1 ? all : all.map((part, i) => (i === shard ? part : idle(part)));
    });
    return andThen(this.inner.debit(parts.flat()), (statuses) =>
      gather(parts, statuses, joinStatuses),
    );
  }

  /** Without a caller, the shards with the most in use are refunded first. */
  override refund(charges: readonly Charge[]): MaybePromise<void> {
    const parts = charges.map((charge) => this.#toParts(charge));
    if (parts.every(({ length }) => length === 1)) return this.#refund(parts.flat());
    return andThen(this.inner.debit(parts.flat().map(idle)), (statuses) => {
      const used = statuses.map((status) => status.used);
      let start = 0;
      const grants = parts.flatMap((all) => {
        const usedOfAll = used.slice(start, start + all.length);
        start += all.length;
        return all.length === 1 ? all : grantByUse(all, usedOfAll);
      });
      return this.#refund(grants);
    });
  }

  /** What each shard got back says little of the whole: it is not returned. */
  #refund(grants: readonly Charge[]): MaybePromise<void> {
    return andThen(this.inner.refund(grants), () => undefined);
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.inner.reset(charges.flatMap((charge) => this.#toParts(charge)));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return this.#onAll((shard) => this.inner.block(scope, this.#keyOf(key, shard), until));
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    return this.#onAll((shard) => this.inner.unblock(scope, this.#keyOf(key, shard)));
  }

  #onAll(call: (shard: number) => MaybePromise<void>): MaybePromise<void> {
    const calls = Array.from({ length: this.#shards }, (_, shard) => call(shard));
    return calls.some(isThenable) ? Promise.all(calls).then(() => undefined) : undefined;
  }

  /** The part of the charge that its caller meets, or all of them if it names none. */
  #toParts(charge: Charge): readonly Charge[] {
    const shard = this.#route(charge);
    if (shard !== undefined) return [this.#toPart(charge, shard)];
    return Array.from({ length: this.#shards }, (_, i) => this.#toPart(charge, i));
  }

  #toPart(charge: Charge, shard: number): Charge {
    const counter = this.#countersOf(charge.counter)[shard];
    return { ...charge, counter, key: this.#keyOf(charge.key, shard) };
  }

  #route({ caller }: Charge): number | undefined {
    if (this.#shards === 1) return 0;
    return caller === undefined ? undefined : this.#shardOf(caller);
  }

  #takeTurn(): number {
    const shard = this.#next;
    this.#next = (shard + 1) % this.#shards;
    return shard;
  }

  #shardOf(caller: string): number {
    return spreadHash(caller) % this.#shards;
  }

  // At the end, where the kind of a key stays readable. Every key of a split limit has such an end,
  // and it is found from the right: no two pairs of key and shard share a name.
  #keyOf(key: string, shard: number): string {
    return this.#shards === 1 ? key : `${key}~${shard}/${this.#shards}`;
  }

  #countersOf(counter: Counter): readonly Counter[] {
    const known = this.#counters.get(counter);
    if (known !== undefined) return known;
    const made = this.#limitsOf(counter.limit).map((limit) => ({ ...counter, limit }));
    this.#counters.set(counter, made);
    return made;
  }

  #limitsOf(limit: Limit): readonly Limit[] {
    const known = this.#limits.get(limit);
    if (known !== undefined) return known;
    const made = splitLimit(limit, this.#shards);
    this.#limits.set(limit, made);
    return made;
  }
}

/**
 * Cuts every limit into `shards` counters that add up to it, under keys such as `key~3/8`. A charge
 * with a `caller` always meets the shard of that caller, in every process; others take turns. A
 * decision is about its shard: `limit` and `remaining` are the part's, and a cost above the part never
 * passes. Choose as many shards as the hot key needs nodes, and far fewer than there are callers.
 *
 * Verbs without a caller act on all shards: `peek` adds up what is left (`retryAfterMs` is the
 * shortest, `resetMs` the longest), `refund` applies to the shards with the most in use, `reset`, `block` and
 * `unblock` reach each. A leaky bucket that shapes spaces the requests of each shard by itself.
 * Another number of shards starts with a full limit.
 *
 * @throws SluiceError `SLUICE_LIMIT_INVALID` from any verb if a limit has fewer units than shards, or is a
 * fixed window that is not aligned to the epoch.
 */
export function sharded(store: Store, options: ShardedOptions): ShardedStore {
  return new ShardedStore(guardedFor(store, undefined), options);
}

function idle(charge: Charge): Charge {
  return { ...charge, cost: 0 };
}

/** One answer for each list of parts, joined where there are several. */
function gather<T>(
  parts: readonly (readonly Charge[])[],
  answers: readonly T[],
  join: (answers: readonly T[]) => T,
): readonly T[] {
  let start = 0;
  return parts.map(({ length }) => {
    const own = answers.slice(start, start + length);
    start += length;
    return length === 1 ? own[0] : join(own);
  });
}

function joinVerdicts(verdicts: readonly Verdict[]): Verdict {
  const passing = verdicts.filter(({ allowed }) => allowed);
  const joined: Verdict = {
    allowed: passing.length > 0,
    limit: sum(verdicts.map(({ limit }) => limit)),
    remaining: sum(verdicts.map(({ remaining }) => remaining)),
    retryAfterMs: Math.min(...verdicts.map(({ retryAfterMs }) => retryAfterMs)),
    resetMs: Math.max(...verdicts.map(({ resetMs }) => resetMs)),
    delayMs: passing.length > 0 ? Math.min(...passing.map(({ delayMs }) => delayMs)) : 0,
    source: verdicts[0].source,
  };
  // A block is of the key in every shard.
  const { blockedMs } = verdicts[0];
  return blockedMs === undefined ? joined : { ...joined, blockedMs };
}

function joinStatuses(statuses: readonly CounterStatus[]): CounterStatus {
  return { ...joinVerdicts(statuses), used: sum(statuses.map(({ used }) => used)) };
}

/** Splits a grant: the part that is used most gets what it uses first, then the next. */
function grantByUse(parts: readonly Charge[], used: readonly number[]): readonly Charge[] {
  let left = parts[0].cost;
  const byUse = [...parts.keys()].sort((a, b) => used[b] - used[a]);
  return byUse.flatMap((i) => {
    // Use may be a quotient: its last digits are not a unit.
    const cost = Math.min(left, Math.ceil(used[i] - 1e-6));
    left -= cost;
    return cost > 0 ? [{ ...parts[i], cost }] : [];
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
