// Receipts of charges that workers hold. The receipts stay in the primary, and workers know them by numbers.
// A worker never reports that it will not use a receipt, so the oldest are dropped: brief ones after 15
// seconds, others when there are too many.

import { BoundedMap, type ChargeReceipt, type Clock } from "sluice";

/** Bounds of {@link WorkerReceipts}. */
export interface ReceiptBounds {
  /** Receipts held until a request ends; default 100,000, as many as a memory store knows. */
  readonly heldMax?: number;
  /** Receipts held briefly; default 20,000. */
  readonly briefMax?: number;
  /** How long a brief receipt is valid; default 15,000, because leases use theirs within 10 seconds. */
  readonly briefMs?: number;
}

interface BriefReceipt {
  readonly receipt: ChargeReceipt;
  readonly untilMs: number;
}

/** The receipts that one worker may present. */
export class WorkerReceipts {
  readonly #clock: Clock;
  readonly #briefMs: number;
  readonly #held: BoundedMap<number, ChargeReceipt>;
  readonly #brief: BoundedMap<number, BriefReceipt>;
  #last = 0;

  constructor(clock: Clock, bounds: ReceiptBounds = {}) {
    const { heldMax = 100_000, briefMax = 20_000, briefMs = 15_000 } = bounds;
    this.#clock = clock;
    this.#briefMs = briefMs;
    this.#held = new BoundedMap(heldMax);
    this.#brief = new BoundedMap(briefMax);
  }

  get size(): number {
    return this.#held.size + this.#brief.size;
  }

  /** Keeps a receipt and returns its number. */
  add(receipt: ChargeReceipt, isBrief: boolean): number {
    this.#last++;
    if (isBrief) this.#addBrief(receipt);
    else this.#held.set(this.#last, receipt);
    return this.#last;
  }

  /** Removes and returns the receipt with this number; undefined if there is none. */
  take(number: number): ChargeReceipt | undefined {
    const receipt = this.#held.get(number) ?? this.#brief.get(number)?.receipt;
    this.#held.delete(number);
    this.#brief.delete(number);
    return receipt;
  }

  /** Removes and returns the receipts of permits. */
  takePermits(): readonly ChargeReceipt[] {
    const permits = [...this.#held].filter(([, receipt]) => isPermit(receipt));
    for (const [number] of permits) this.#held.delete(number);
    return permits.map(([, receipt]) => receipt);
  }

  #addBrief(receipt: ChargeReceipt): void {
    const nowMs = this.#clock.now();
    this.#brief.set(this.#last, { receipt, untilMs: nowMs + this.#briefMs });
    // They are in order of time, so the first valid one ends the search.
    for (const [number, { untilMs }] of this.#brief) {
      if (untilMs > nowMs) break;
      this.#brief.delete(number);
    }
  }
}

/** Permits are never held briefly: they last as long as their request. */
function isPermit({ counter }: ChargeReceipt): boolean {
  return counter.limit.algorithm === "concurrency";
}
