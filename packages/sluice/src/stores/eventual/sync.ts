// The sync between this process and the store that all share: every `syncMs` one call for the
// keys that were asked for since, whose answer is what all processes have spent together. One
// sync is under way at a time, one timer waits for the next, and none when there is nothing to send.

import { type CancelTimer, startTimer } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { CounterStatus } from "../store.js";
import type { LocalCounter } from "./local-counter.js";
import type { LocalCounters } from "./local-counters.js";
import { type BatchSetup, SyncBatch } from "./sync-batch.js";

/** The most charges in one call. */
const CHARGES_MAX = 1_000;
/** A key that is new here is synced so soon: what others spent on it is not known at all. */
const FIRST_MS = 5;
/** A call has failed if it gets no answer within this time. */
const ANSWER_MS_MAX = 1_000;
/** After this time without an answer, a slow store may have received the call. */
const SILENCE_MS = ANSWER_MS_MAX / 2;
/** The most new keys that are synced early; more wait for the next round. */
const NEW_MAX = 10_000;
/** How often a key's blocks are looked for. */
const BLOCKS_MS = 1_000;

/** What a sync works with. */
export interface SyncSetup extends BatchSetup {
  readonly localCounters: LocalCounters;
}

/** What has been synced so far. */
export interface SyncCounts {
  syncs: number;
  failures: number;
  unitsSynced: number;
  overshootUnitsMax: number;
  syncTookMsMax: number;
}

/** Sends the store what was admitted here, and updates the local counters with what was admitted elsewhere. */
export class Sync {
  readonly counts: SyncCounts = {
    syncs: 0,
    failures: 0,
    unitsSynced: 0,
    overshootUnitsMax: 0,
    syncTookMsMax: 0,
  };
  /** Changed by each block of this process: an answer from before it says nothing about it. */
  blocksVersion = 0;
  readonly #setup: SyncSetup;
  readonly #new = new Set<LocalCounter>();
  #cancelTimer: CancelTimer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #roundDueMs = 0;
  #isBusy = false;
  #isClosed = false;
  #whenIdle: (() => void) | undefined;

  constructor(setup: SyncSetup) {
    this.#setup = setup;
  }

  /** Sees to it that a local counter is synced soon. */
  enlist(localCounter: LocalCounter, nowMs: number): void {
    const clockMs = this.#setup.clock.now();
    localCounter.isTouched = true;
    localCounter.skewMs = nowMs - clockMs;
    if (this.#isClosed) return;
    if (localCounter.isNew && this.#new.size < NEW_MAX) this.#new.add(localCounter);
    if (!this.#isBusy) this.#plan(clockMs);
  }

  /**
   * Sends what is left once, after the sync that is under way, and learns no more. To be called
   * once. Never rejects.
   */
  close(): MaybePromise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    return andThen(this.#idle(), () => {
      this.#send([...this.#setup.localCounters].filter(({ deltaUnits }) => deltaUnits !== 0));
      return this.#idle();
    });
  }

  #idle(): MaybePromise<void> {
    if (!this.#isBusy) return undefined;
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Starts the timer for whatever comes first. */
  #plan(clockMs: number): void {
    const { localCounters, syncMs } = this.#setup;
    // A clock that was set back does not put a round off.
    if (localCounters.size > 0) this.#wakeAt(Math.min(this.#roundDueMs, clockMs + syncMs), clockMs);
    if (this.#new.size > 0) this.#wakeAt(clockMs + FIRST_MS, clockMs);
  }

  #wakeAt(dueMs: number, clockMs: number): void {
    if (this.#dueMs <= dueMs) return;
    this.#stopTimer();
    this.#dueMs = dueMs;
    const delayMs = Math.max(0, dueMs - clockMs);
    this.#cancelTimer = startTimer(this.#setup.clock, delayMs, () => this.#tick(dueMs));
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
  }

  #tick(dueMs: number): void {
    this.#stopTimer();
    // The timer is trusted even where the clock lags behind it.
    if (Math.max(dueMs, this.#setup.clock.now()) >= this.#roundDueMs) this.#sendRound();
    else this.#send([...this.#new]);
  }

  /** Syncs the keys that were asked for since the last round, and drops those that were not. */
  #sendRound(): void {
    const { localCounters, clock, syncMs } = this.#setup;
    const touched: LocalCounter[] = [];
    for (const localCounter of localCounters) {
      if (localCounter.isTouched) touched.push(localCounter);
      else localCounters.delete(localCounter);
    }
    this.#roundDueMs = clock.now() + syncMs;
    this.#send(touched);
  }

  #send(localCounters: readonly LocalCounter[]): void {
    this.#isBusy = true;
    this.#new.clear();
    this.#sendFrom(localCounters, 0);
  }

  #sendFrom(localCounters: readonly LocalCounter[], start: number): void {
    if (start >= localCounters.length) {
      this.#end();
      return;
    }
    const batch = new SyncBatch(localCounters.slice(start, start + CHARGES_MAX), this.#setup);
    const goOn = () => this.#sendFrom(localCounters, start + CHARGES_MAX);
    const fail = () => {
      this.counts.failures++;
      const sinceMs = this.#setup.clock.now() - batch.sentAtMs;
      if (sinceMs >= SILENCE_MS) batch.putAside();
      else batch.takeBack();
      goOn();
    };
    this.counts.syncs++;
    this.#ask(
      () => batch.send(),
      (statuses) => {
        if (statuses.length !== batch.localCounters.length) {
          fail();
          return;
        }
        this.#note(batch, statuses);
        this.#learnBlocks(batch, goOn);
      },
      fail,
    );
  }

  #end(): void {
    this.#isBusy = false;
    const done = this.#whenIdle;
    this.#whenIdle = undefined;
    if (!this.#isClosed) this.#plan(this.#setup.clock.now());
    done?.();
  }

  #note(batch: SyncBatch, statuses: readonly CounterStatus[]): void {
    const { counts } = this;
    const clockMs = this.#setup.clock.now();
    counts.syncTookMsMax = Math.max(counts.syncTookMsMax, clockMs - batch.sentAtMs);
    for (const { used, limit } of statuses) {
      counts.overshootUnitsMax = Math.max(counts.overshootUnitsMax, used - limit);
    }
    counts.unitsSynced += batch.end();
    if (!this.#isClosed) batch.learn(statuses, clockMs);
  }

  /** A status need not show blocks: of each key they are asked for once in a while. */
  #learnBlocks(batch: SyncBatch, goOn: () => void): void {
    const { inner, local, clock } = this.#setup;
    const nowMs = clock.now();
    const due = batch.localCounters.flatMap((localCounter, i) =>
      nowMs - localCounter.blocksSeenAtMs >= BLOCKS_MS ? [i] : [],
    );
    if (due.length === 0 || this.#isClosed) {
      goOn();
      return;
    }
    const version = this.blocksVersion;
    const charges = due.map((i) => ({ ...batch.charges[i], cost: 0 }));
    const learn = (verdicts: readonly Verdict[]) => {
      for (const [n, i] of due.entries()) {
        const { counter, key } = charges[n];
        const { blockedMs = 0, source } = verdicts[n];
        batch.localCounters[i].blocksSeenAtMs = nowMs;
        // A fallback does not know what other processes have blocked.
        if (version !== this.blocksVersion || this.#isClosed || source === "fallback") continue;
        if (blockedMs === 0) local.unblock(counter.scope, key);
        else local.block(counter.scope, key, { untilMs: nowMs + blockedMs, nowMs });
      }
      goOn();
    };
    this.#ask(() => inner.peek(charges, { blockNowMs: nowMs }), learn, goOn);
  }

  /** Calls exactly one of the two, immediately if the answer is there, within {@link ANSWER_MS_MAX}. */
  #ask<T>(call: () => MaybePromise<T>, succeed: (value: T) => void, fail: () => void): void {
    const answer = attempt(call);
    if (answer === undefined) {
      fail();
      return;
    }
    if (!isThenable(answer)) {
      succeed(answer);
      return;
    }
    let isOver = false;
    const once = (then: () => void) => {
      if (isOver) return;
      isOver = true;
      cancel();
      then();
    };
    const cancel = startTimer(this.#setup.clock, ANSWER_MS_MAX, () => once(fail));
    Promise.resolve(answer).then(
      (value) => once(() => succeed(value)),
      () => once(fail),
    );
  }
}

/** What a call answers, or undefined if it throws. */
function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
