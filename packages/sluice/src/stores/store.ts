// The contract of a store: it holds counters and decides a list of charges, all or nothing. A
// store never knows rules or HTTP. Memory answers synchronously, other stores with a promise.

import type { Verdict } from "../base/decision.js";
import type { MaybePromise } from "../base/maybe-promise.js";
import type { Limit } from "../limits/limits.js";
import type { DepositStore } from "./deposit-store.js";
import type { FenceStore } from "./fence-store.js";
import type { RecordStore } from "./record-store.js";
import type { Escalated, RefusalReport } from "./refusal-reports.js";

/**
 * What happens when a store does not answer: `open` admits, `closed` refuses, `local` decides in this
 * process under a stricter limit, `throw` lets the error through.
 */
export type FailurePolicy = "open" | "closed" | "local" | "throw";

/**
 * What is counted under one limit. `scope` names the limiter or rule and is shared by its blocks;
 * `part` distinguishes several limits of one scope. A counter with the same scope, part and
 * algorithm but other numbers takes over what was used.
 */
export interface Counter {
  readonly scope: string;
  readonly part: number;
  readonly limit: Limit;
  /** What happens when the store does not answer; see `resilient`. Default: the decorator's own option. */
  readonly onStoreFailure?: FailurePolicy;
  /** How long the store may take for a decision. Default: what the decorator was given. */
  readonly timeoutMs?: number;
  /**
   * The epoch of the home region under which it is counted: a store that is not home under this epoch refuses every
   * call with `SLUICE_HOME_FENCED`. All counters of a call have the same. Absent: the store does not look.
   */
  readonly epoch?: number;
  /** What a ledger does besides counting. Absent if the counter is not that of a durable rule. */
  readonly durable?: DurableOptions;
}

/** What a ledger does for a counter besides counting. Other stores ignore it. */
export interface DurableOptions {
  /** The most units that are carried over from a period into the next one; 0 carries none over. */
  readonly carryOverMax: number;
  /** The shares of the quota, above 0 and at most 1 and rising, at which an event goes out when they are used. */
  readonly alertShares: readonly number[];
}

/** One (limit, key, cost) to be decided. */
export interface Charge {
  readonly counter: Counter;
  readonly key: string;
  readonly cost: number;
  /** The time by the limit's clock. A store with a clock of its own ignores it. */
  readonly nowMs: number;
  /** Not held, even if the request is: what a permit's request pays besides is spent. */
  readonly isFinal?: boolean;
  /** A shadow charge is counted if it passes, and never refuses the others. */
  readonly shadow?: boolean;
  /** The caller, if many callers share the key: it chooses the shard of a split limit. */
  readonly caller?: string | undefined;
  /**
   * Of an operator's act on a rule and a key: the limit may be that of another tier. A store that knows which limit is in
   * force keeps it. Default false.
   */
  readonly isAnyTier?: boolean | undefined;
  /**
   * Of a refund or reset: one that is sent twice with the same id happens once in stores that keep what they did, such as
   * a ledger. Others ignore it. Default: each happens.
   */
  readonly requestId?: string | undefined;
}

/** The status of a counter: a verdict on a cost of nothing, with what is in use. */
export interface CounterStatus extends Verdict {
  /** Units in use, more than the limit if there is debt. Not rounded. */
  readonly used: number;
}

/** Proof of a charge that was taken. A refund has to present it. */
export interface ChargeReceipt {
  readonly counter: Counter;
  readonly key: string;
  readonly cost: number;
  /** Whatever the store needs to refund the charge, once. */
  readonly proof: unknown;
}

/** The verdicts of a list of charges, in their order, and, if asked for, a receipt for each. */
export interface Outcome {
  /** Whether all enforced charges passed and were taken. */
  readonly allowed: boolean;
  readonly verdicts: readonly Verdict[];
  readonly receipts: readonly ChargeReceipt[];
  /** Whether the store had admitted this request id before, and charged nothing now. Default: it is not known to have. */
  readonly isRepeated?: boolean;
}

/** How a charge is settled: `kept` units stay charged, which may be more than was charged. */
export interface Settling {
  readonly receipt: ChargeReceipt;
  readonly kept: number;
  readonly nowMs: number;
}

/** The units that each of a list of charges got back; nothing if the store does not know. */
// biome-ignore lint/suspicious/noConfusingVoidType: most stores have nothing to return, and need not say so.
export type RefundedUnits = readonly number[] | void;

/** A store as limiters use it. */
export interface Store {
  /** Whether answers come over a network, so that they may fail to come. Default: they don't. */
  readonly isRemote?: boolean;
  /** Whether `resilient` stands between this store and the network. Default: it does not. */
  readonly isGuarded?: boolean;
  /** Where processes of a region keep what they lease from the home region. Default: rules can't be `across: leased` here. */
  readonly deposits?: DepositStore | undefined;
  /** Where it is recorded which region is home. Default: the store can't be a home region's that has a standby. */
  readonly fence?: FenceStore | undefined;
  /** What users of the store agree on besides counters. Default: regions can't learn shares over it. */
  readonly records?: RecordStore | undefined;
  /** Charges all or nothing: if any enforced charge is refused, none is taken. */
  decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome>;
  /** Decides by the failure policy of each limit, without asking. Default: `decide`. */
  decideByPolicy?(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome>;
  /** Returns what `decide` would answer, with what is left now. Charges nothing. */
  peek(charges: readonly Charge[], options?: PeekOptions): MaybePromise<readonly Verdict[]>;
  /** The hot path of one charge without a receipt, where a store has a shorter one. */
  decideOne?(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict>;
  /** Charges unconditionally: units beyond the limit become debt. Returns the state of each counter afterwards. */
  debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]>;
  /** Presents receipts, each once: refunds what is unused, or charges the excess as debt. */
  settle(settlings: readonly Settling[]): MaybePromise<void>;
  /**
   * Says that a charge held briefly stays charged, so that the store need not wait for its receipt.
   * Default: the store does not wait.
   */
  keep?(receipt: ChargeReceipt): void;
  /**
   * Sets aside what counters of this limit will need, so that no request has to wait for it, and what `counter` alone
   * will need if it is given. Default: there is nothing to set aside.
   */
  prepare?(limit: Limit, counter?: Counter): void;
  /**
   * Says that a counter is no longer used, for limits that come and go: after a while the store may drop what was
   * counted under it. Open receipts can still be settled. Default: the store keeps nothing for a counter.
   */
  forget?(counter: Counter): void;
  /**
   * An operator's grant, capped at full. A store that acts once for each `requestId` returns the units that each charge
   * got back, for one that is sent again those of the first time; others return nothing.
   */
  refund(charges: readonly Charge[]): MaybePromise<RefundedUnits>;
  /** Refuses every charge of this scope and key until then, by the time of `blockNowMs`. */
  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): MaybePromise<void>;
  /** Ends a block immediately, and forgets the level and the refusals of the key in this scope. */
  unblock(scope: string, key: string): MaybePromise<void>;
  /**
   * Counts refusals, and blocks keys that were refused too often, for longer each time. Returns what became of each key,
   * in order. A longer block that is in force stays. Default: rules with `escalate` can't be counted here.
   */
  escalate?(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]>;
  /** Forgets what was used; the cost of the charges does not matter. Blocks stay. */
  reset(charges: readonly Charge[]): MaybePromise<void>;
  /** Lets go of everything. Every later call is an error. */
  close(): MaybePromise<void>;
}

/** How a list of charges is looked at. */
export interface PeekOptions {
  /** The time by which blocks run. Default: each charge's own. */
  readonly blockNowMs?: number;
}

/** Whether and for how long charges are held; see {@link DecideOptions.hold}. */
export type HoldMode = boolean | "briefly" | "lease";

/** How a list of charges is decided. */
export interface DecideOptions extends PeekOptions {
  /** Makes the same request, sent twice, count once. */
  readonly requestId?: string;
  /**
   * Whether receipts are wanted, to settle the charges later. Default: the charges are final.
   * `"briefly"`: to be settled in a moment or never, so the store need not remember them; what a
   * refund or reset in between paid for is then not distinguished.
   * `"lease"`: as true, for a lease that the process will spend by itself; a ledger records it as such.
   */
  readonly hold?: HoldMode;
  /** Whether the caller has continued without the answer: nothing new need be started for it. */
  readonly isAbandoned?: () => boolean;
}

/** A store that answers synchronously. */
export interface SyncStore extends Store {
  decide(charges: readonly Charge[], options?: DecideOptions): Outcome;
  peek(charges: readonly Charge[], options?: PeekOptions): readonly Verdict[];
  decideOne?(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): Verdict;
  debit(charges: readonly Charge[]): readonly CounterStatus[];
  settle(settlings: readonly Settling[]): void;
  refund(charges: readonly Charge[]): void;
  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): void;
  unblock(scope: string, key: string): void;
  escalate?(reports: readonly RefusalReport[]): readonly Escalated[];
  reset(charges: readonly Charge[]): void;
  close(): void;
}
