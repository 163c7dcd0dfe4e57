// Receipts of charges that workers hold. What a receipt proves stays in the primary, which the store gave
// it to; workers know it by a number. Nobody says of a receipt that it will never come back, so the oldest
// give way: those held for a moment after 15 seconds, others when there are too many.

import type { ChargeReceipt, Clock } from "sluice";

/** Bounds of {@link OpenReceipts}. */
export interface ReceiptBounds {
  /** Receipts held until a request ends; default 100,000, as many as a memory store knows. */
  readonly heldMax?: number;
  /** Receipts held briefly; default 20,000. */
  readonly briefMax?: number;
  /** How long a brief one is good for; default 15,000: leases wait for theirs up to 10 seconds. */
  readonly briefMs?: number;
}

interface BriefReceipt {
  readonly receipt: ChargeReceipt;
  readonly untilMs: number;
}

/** The receipts that one worker may present. */
export class OpenReceipts {
  readonly #clock: Clock;
  readonly #bounds: Required<ReceiptBounds>;
  readonly #held = new Map<number, ChargeReceipt>();
  readonly #brief = new Map<number, BriefReceipt>();
  #last = 0;

  constructor(clock: Clock, bounds: ReceiptBounds = {}) {
    this.#clock = clock;
    this.#bounds = { heldMax: 100_000, briefMax: 20_000, briefMs: 15_000, ...bounds };
  }

  get size(): number {
    return this.#held.size + this.#brief.size;
  }

  /** Keeps a receipt and returns its number. */
  add(receipt: ChargeReceipt, isBrief: boolean): number {
    this.#last++;
    if (isBrief) this.#addBrief(receipt);
    else {
      this.#held.set(this.#last, receipt);
      if (this.#held.size > this.#bounds.heldMax) this.#held.delete(firstOf(this.#held));
    }
    return this.#last;
  }

  /** The receipt of a number, which is then known no more; undefined if it is not. */
  take(number: number): ChargeReceipt | undefined {
    const receipt = this.#held.get(number) ?? this.#brief.get(number)?.receipt;
    this.#held.delete(number);
    this.#brief.delete(number);
    return receipt;
  }

  /** The receipts of permits, which are then known no more. */
  takePermits(): readonly ChargeReceipt[] {
    const permits = [...this.#held].filter(([, receipt]) => isPermit(receipt));
    for (const [number] of permits) this.#held.delete(number);
    return permits.map(([, receipt]) => receipt);
  }

  #addBrief(receipt: ChargeReceipt): void {
    const nowMs = this.#clock.now();
    this.#brief.set(this.#last, { receipt, untilMs: nowMs + this.#bounds.briefMs });
    // In order of time: the first that is still good ends the search.
    for (const [number, { untilMs }] of this.#brief) {
      if (untilMs > nowMs && this.#brief.size <= this.#bounds.briefMax) break;
      this.#brief.delete(number);
    }
  }
}

/** Permits are never held briefly: they last as long as their request. */
function isPermit({ counter }: ChargeReceipt): boolean {
  return counter.limit.algorithm === "concurrency";
}

function firstOf(map: ReadonlyMap<number, unknown>): number {
  return map.keys().next().value as number;
}
