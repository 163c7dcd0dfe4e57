// Operations that wait for a transaction. Those whose accounts are in use wait until that transaction has ended;
// others run in parallel.

import type { AccountCache } from "./account-cache.js";
import type { PendingOperation } from "./batch.js";
import { accountIdsOf } from "./operation.js";

/** Operations of one transaction. */
const BATCH_MAX = 500;
/** Accounts of one transaction: while the database writes some, others are decided. */
const ACCOUNTS_MAX = 100;
/** Operations that are looked at for one transaction; those behind them wait for longer. */
const LOOK_MAX = 1_000;

/** Operations in the order in which they came. */
export class WaitingLine {
  readonly #cache: AccountCache;
  /** Accounts that transactions under way use. */
  readonly #busy = new Set<string>();
  #line: PendingOperation[] = [];

  constructor(cache: AccountCache) {
    this.#cache = cache;
  }

  get length(): number {
    return this.#line.length;
  }

  add(pending: PendingOperation): void {
    this.#line.push(pending);
  }

  /**
   * Takes operations whose accounts are not in use, and which are all in the cache or all to be read. What has to wait
   * keeps its place: operations behind it wait for its accounts too.
   */
  takeReady(): readonly PendingOperation[] {
    const scan = new Scan(this.#busy, this.#cache);
    let looked = 0;
    while (looked < Math.min(LOOK_MAX, this.#line.length) && !scan.isFull) {
      scan.look(this.#line[looked++] as PendingOperation);
    }
    this.#line = scan.passed.concat(this.#line.slice(looked));
    for (const id of scan.accounts) this.#busy.add(id);
    return scan.ready;
  }

  /** Ends the use of the accounts of operations that were taken. */
  release(taken: readonly PendingOperation[]): void {
    for (const { operation } of taken) {
      for (const id of accountIdsOf(operation)) this.#busy.delete(id);
    }
  }
}

/** One walk along the line. */
class Scan {
  readonly ready: PendingOperation[] = [];
  readonly passed: PendingOperation[] = [];
  readonly accounts = new Set<string>();
  readonly #busy: ReadonlySet<string>;
  readonly #cache: AccountCache;
  /** Accounts of operations that were passed over. */
  readonly #awaited = new Set<string>();
  /** Whether the accounts of what is ready are all in the cache. */
  #isCached: boolean | undefined;

  constructor(busy: ReadonlySet<string>, cache: AccountCache) {
    this.#busy = busy;
    this.#cache = cache;
  }

  get isFull(): boolean {
    return this.ready.length >= BATCH_MAX || this.accounts.size >= ACCOUNTS_MAX;
  }

  look(pending: PendingOperation): void {
    const ids = accountIdsOf(pending.operation);
    const isFree = !ids.some((id) => this.#busy.has(id) || this.#awaited.has(id));
    const isCached = ids.every((id) => this.#cache.has(id));
    if (isFree && isCached === (this.#isCached ?? isCached)) {
      this.#isCached = isCached;
      this.ready.push(pending);
      for (const id of ids) this.accounts.add(id);
    } else {
      this.passed.push(pending);
      for (const id of ids) this.#awaited.add(id);
    }
  }
}
