// The units left of each grant of an account, and its debt: in which order units are drawn, and where refunded units
// go. Arithmetic only.

import type { Draws } from "./entry.js";

/** What is left of a grant. */
export interface Grant {
  /** The sequence number of the entry that granted it. */
  readonly sequence: number;
  /** All that it can hold. */
  amount: number;
  left: number;
  readonly expiresAtMs: number;
}

interface GrantsState {
  /** In the order in which they are used: what expires first, and of those the quota of the period last. */
  grants: Grant[];
  /** Units charged beyond all grants. */
  debt: number;
  /** Units that a smaller quota should have taken and that were used already. */
  owed?: number;
  /**
   * After an operator's refund or reset: receipts of entries up to `sequence` bring `left` units together, which is what
   * was in use then. The rest of what they stand for has been refunded.
   */
  pardon?: { sequence: number; left: number };
  /** Shares that have been reached, as percent. */
  reached?: number[];
}

/** The entry that opens an account grants the quota of the period. */
export const QUOTA_GRANT = 1;

/** The grants of one account. */
export class Grants {
  readonly #state: GrantsState;

  /** @param state - As {@link toText} gives it. */
  constructor(state: string) {
    this.#state = JSON.parse(state) as GrantsState;
  }

  /** As the database keeps it. */
  toText(): string {
    return JSON.stringify(this.#state);
  }

  /** In the order in which they are used. */
  get list(): readonly Readonly<Grant>[] {
    return this.#state.grants;
  }

  /** Units that have been granted and have not expired. */
  get granted(): number {
    return this.#state.grants.reduce((sum, { amount }) => sum + amount, 0);
  }

  /** Adds a grant. It pays debt first. */
  open({ sequence, amount, expiresAtMs }: Omit<Grant, "left">): void {
    const left = amount - this.#payDebt(amount);
    const { grants } = this.#state;
    grants.push({ sequence, amount, left, expiresAtMs });
    grants.sort(byExpiry);
  }

  /** Takes units that are there. Returns from which grants; undefined if all are from the quota of the period. */
  draw(units: number): Draws | undefined {
    const draws: [number, number][] = [];
    let missing = units;
    for (const grant of this.#state.grants) {
      const drawn = Math.min(missing, grant.left);
      if (drawn === 0) continue;
      grant.left -= drawn;
      missing -= drawn;
      draws.push([grant.sequence, drawn]);
    }
    this.#state.debt += missing;
    return draws.every(([sequence]) => sequence === QUOTA_GRANT) ? undefined : draws;
  }

  /**
   * Puts back what a charge drew: debt is paid first, then the grants get theirs back, the last one drawn from first.
   * What belongs to a grant that has ended is gone. Returns the units that are back.
   */
  putBack(
    units: number,
    { draws, sequence }: { draws: Draws | undefined; sequence: number },
  ): number {
    let left = this.#pardoned(units, sequence);
    let back = this.#payDebt(left);
    left -= back;
    for (const [from, drawn] of (draws ?? [[QUOTA_GRANT, left] as const]).toReversed()) {
      const mine = Math.min(left, drawn);
      left -= mine;
      const grant = this.#state.grants.find((each) => each.sequence === from);
      if (grant !== undefined) back += fill(grant, mine);
    }
    return back;
  }

  /**
   * An operator's refund: pays debt, then fills the quota of the period. Returns the units that are back.
   *
   * @param sequence - Of the last entry before it.
   */
  refund(units: number, sequence: number): number {
    const paid = this.#payDebt(units);
    const quota = this.#quotaGrant;
    const back = quota === undefined ? paid : paid + fill(quota, units - paid);
    if (back > 0) this.#state.pardon = { sequence, left: this.#drawn };
    return back;
  }

  /**
   * An operator's adjustment upwards: pays debt, and the rest can be used until the period ends.
   *
   * @param own - What its entry grants if the quota of the period is gone.
   */
  add(units: number, own: { readonly sequence: number; readonly expiresAtMs: number }): void {
    const left = units - this.#payDebt(units);
    const quota = this.#quotaGrant;
    if (quota === undefined) {
      // The next period has taken it over, and the clock has stepped back: the entry of the adjustment grants them.
      this.#state.grants.push({ ...own, amount: left, left });
      return;
    }
    quota.left += left;
    quota.amount = Math.max(quota.amount, quota.left);
  }

  /** What a refund of all that is in use would bring. */
  get refundable(): number {
    const quota = this.#quotaGrant;
    return this.#state.debt + (quota === undefined ? 0 : quota.amount - quota.left);
  }

  /**
   * Another quota for the period, by `difference` more or less than the one before. What was used stays used: a smaller
   * quota takes what is left, and what it could not take is taken from the next larger one. Returns the units that it
   * adds to the balance.
   */
  changeQuota(difference: number): number {
    const grant = this.#quotaGrant;
    if (grant === undefined) return 0;
    if (difference < 0) {
      const taken = Math.min(-difference, grant.left);
      grant.left -= taken;
      grant.amount += difference;
      this.#state.owed = (this.#state.owed ?? 0) - difference - taken;
      return -taken;
    }
    const repaid = Math.min(difference, this.#state.owed ?? 0);
    this.#state.owed = (this.#state.owed ?? 0) - repaid;
    grant.amount += difference;
    grant.left += difference - repaid - this.#payDebt(difference - repaid);
    return difference - repaid;
  }

  /** Ends a grant: what is left of it is no longer there. Returns the units that went. */
  end(sequence: number): number {
    const { grants } = this.#state;
    const at = grants.findIndex((grant) => grant.sequence === sequence);
    return at < 0 ? 0 : (grants.splice(at, 1)[0]?.left ?? 0);
  }

  /** Notes that a share was reached. Returns whether it is the first time. */
  noteReached(sharePercent: number): boolean {
    this.#state.reached ??= [];
    if (this.#state.reached.includes(sharePercent)) return false;
    this.#state.reached.push(sharePercent);
    return true;
  }

  get #quotaGrant(): Grant | undefined {
    return this.#state.grants.find(({ sequence }) => sequence === QUOTA_GRANT);
  }

  /** Units drawn from grants. */
  get #drawn(): number {
    return this.#state.grants.reduce((sum, { amount, left }) => sum + amount - left, 0);
  }

  #payDebt(units: number): number {
    const paid = Math.min(units, this.#state.debt);
    this.#state.debt -= paid;
    return paid;
  }

  #pardoned(units: number, sequence: number): number {
    const { pardon } = this.#state;
    if (pardon === undefined || sequence > pardon.sequence) return units;
    const allowed = Math.min(units, pardon.left);
    pardon.left -= allowed;
    return allowed;
  }
}

/** Gives units back to a grant, up to all that it holds. Returns how many it took. */
function fill(grant: Grant, units: number): number {
  const taken = Math.max(0, Math.min(units, grant.amount - grant.left));
  grant.left += taken;
  return taken;
}

function byExpiry(a: Grant, b: Grant): number {
  if (a.expiresAtMs !== b.expiresAtMs) return a.expiresAtMs - b.expiresAtMs;
  if (a.sequence === QUOTA_GRANT || b.sequence === QUOTA_GRANT)
    return a.sequence === QUOTA_GRANT ? 1 : -1;
  return a.sequence - b.sequence;
}
