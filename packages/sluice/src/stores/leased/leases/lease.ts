// A lease: budget that was debited in one piece. A unit of it is left, or out for a decision that is
// not made yet, or spent. Units that are out come back to their lease whenever they do, also after it
// was let go, until its receipt is presented: a receipt is presented once, for all units together.

import type { ChargeReceipt } from "../../store.js";

/** Budget that was debited in one piece, and may be spent until it expires. */
export interface Lease {
  /** Presented to return the lease; only {@link NOTHING} has none. */
  readonly receipt: ChargeReceipt | undefined;
  readonly units: number;
  left: number;
  /** Units no longer left: part of a decision that waits for the store to add the rest. */
  lent: number;
  /** Units no longer left: taken for requests that another rule may still refuse. */
  brief: number;
  readonly sentAtMs: number;
  readonly expiresAtMs: number;
  /** The same instant by the limit's time: whichever clock gets there first ends the lease. */
  readonly endNowMs: number;
  /** Whether what is left of it is useless once it expires: its window ends as well. */
  readonly endsForGood: boolean;
  /** Once it is let go: how long it waits for what is out. */
  waitsUntilMs: number;
  /** Whether its receipt was presented: what comes back after that is lost. */
  isSettled: boolean;
}

/** Units out of the leases of a key, set aside for one decision. */
export interface Taken {
  readonly units: number;
  readonly parts: readonly { readonly lease: Lease; readonly units: number }[];
}

/** What a lease is made of. */
export type LeaseParts = Pick<
  Lease,
  "receipt" | "units" | "sentAtMs" | "expiresAtMs" | "endNowMs" | "endsForGood"
>;

/** A lease of which everything is left. */
export function newLease(terms: LeaseParts): Lease {
  const { receipt, units, sentAtMs, expiresAtMs, endNowMs, endsForGood } = terms;
  return {
    receipt,
    units,
    left: units,
    lent: 0,
    brief: 0,
    sentAtMs,
    expiresAtMs,
    endNowMs,
    endsForGood,
    waitsUntilMs: Number.POSITIVE_INFINITY,
    isSettled: false,
  };
}

/** Stands for no lease: less than nothing is left of it, so that even a cost of 0 does not fit. */
export const NOTHING: Lease = newLease({
  receipt: undefined,
  units: 0,
  sentAtMs: 0,
  expiresAtMs: 0,
  endNowMs: 0,
  endsForGood: false,
});
NOTHING.left = -1;

export function isLease(lease: Lease | undefined): lease is Lease {
  return lease !== undefined && lease !== NOTHING;
}

/** Whether units of the lease may still be spent. */
export function isAlive(lease: Lease, atMs: number, nowMs: number): boolean {
  return atMs < lease.expiresAtMs && nowMs < lease.endNowMs;
}

/** Whether units of the lease may still come back. */
export function isOut({ lent, brief }: Lease): boolean {
  return lent > 0 || brief > 0;
}

/** Whether something of a lease that is still useful would expire by then. */
export function mayExpire(lease: Lease, atMs: number, untilMs: number): boolean {
  const isSoon = lease.expiresAtMs > atMs && lease.expiresAtMs <= untilMs;
  return isSoon && lease.left > 0 && lease.lent === 0 && !lease.endsForGood;
}

/** Units that were lent are spent. */
export function spendLent({ parts }: Taken): void {
  for (const { lease, units } of parts) lease.lent -= units;
}

/** Puts back what was lent. Returns the units that are lost. */
export function restoreLent({ parts }: Taken): number {
  let lost = 0;
  for (const { lease, units } of parts) {
    lease.lent -= units;
    lost += toLease(lease, units);
  }
  return lost;
}

/** Puts `units` of what was taken briefly back; the rest is spent. Returns the units that are lost. */
export function restoreBrief({ parts }: Taken, units: number): number {
  let toGo = units;
  let lost = 0;
  // The younger lease first: it lives longer.
  for (let i = parts.length - 1; i >= 0; i--) {
    const { lease, units: taken } = parts[i];
    const back = Math.min(toGo, taken);
    lease.brief -= taken;
    lost += toLease(lease, back);
    toGo -= back;
  }
  return lost;
}

/** Returns the units that are lost because the receipt was presented without them. */
function toLease(lease: Lease, units: number): number {
  if (lease.isSettled) return units;
  lease.left += units;
  return 0;
}
