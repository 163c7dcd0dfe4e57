// An account as a plain object, for comparison with the ledger: units in grants, debt, and what an operator refunded. It
// knows nothing of entries, hashes, transactions or databases.

/** A grant of units. */
interface ModelGrant {
  /** In the order in which they were granted; the quota of the period is 0. */
  readonly number: number;
  readonly expiresAtMs: number;
  amount: number;
  left: number;
}

/** A charge, and which grants it took its units from. */
export interface ModelCharge {
  readonly units: number;
  readonly number: number;
  readonly draws: readonly { readonly grant: number; readonly units: number }[];
}

/** When a period begins and ends. */
export interface ModelPeriod {
  readonly startMs: number;
  readonly endMs: number;
}

/** The account of one period. */
export class AccountModel {
  readonly period: ModelPeriod;
  #quota: number;
  #grants: ModelGrant[];
  #debt = 0;
  /** What a smaller quota could not take, because it was in use. */
  #owed = 0;
  /** Charges up to this one bring back this many units together: an operator refunded the rest. */
  #pardon = { number: 0, units: Number.POSITIVE_INFINITY };
  /** Of the last charge. */
  #number = 0;
  #granted = 0;

  constructor(period: ModelPeriod, quota: number) {
    this.period = period;
    this.#quota = quota;
    this.#grants = [{ number: 0, amount: quota, left: quota, expiresAtMs: period.endMs }];
  }

  /** Opens the account of a new period, which takes over what the one before leaves to it. */
  static open(
    period: ModelPeriod,
    { quota, carryOverMax, nowMs }: { quota: number; carryOverMax: number; nowMs: number },
    previous: AccountModel | undefined,
  ): AccountModel {
    const account = new AccountModel(period, quota);
    if (previous === undefined) return account;
    for (const { number, left, expiresAtMs } of previous.#inOrder) {
      if (number === 0) continue;
      previous.#end(number);
      if (left > 0 && expiresAtMs > nowMs) account.grant(left, expiresAtMs);
    }
    const unused = Math.min(carryOverMax, previous.#find(0)?.left ?? 0);
    if (unused > 0) {
      previous.#end(0);
      account.grant(unused, period.endMs);
    }
    return account;
  }

  get balance(): number {
    return this.#grants.reduce((sum, { left }) => sum + left, -this.#debt);
  }

  /** Another one that is the same. */
  copy(): AccountModel {
    const copy = new AccountModel(this.period, this.#quota);
    copy.#grants = this.#grants.map((grant) => ({ ...grant }));
    [copy.#debt, copy.#owed, copy.#number, copy.#granted] = [
      this.#debt,
      this.#owed,
      this.#number,
      this.#granted,
    ];
    copy.#pardon = { ...this.#pardon };
    return copy;
  }

  /** Top-ups that have expired are no longer there. */
  expire(nowMs: number): void {
    for (const { number, expiresAtMs } of [...this.#grants]) {
      if (number !== 0 && expiresAtMs <= nowMs) this.#end(number);
    }
  }

  grant(units: number, expiresAtMs: number): void {
    const left = units - this.#payDebt(units);
    this.#grants.push({ number: ++this.#granted, amount: units, left, expiresAtMs });
  }

  charge(units: number): ModelCharge {
    let missing = units;
    const draws: { grant: number; units: number }[] = [];
    for (const grant of this.#inOrder) {
      const drawn = Math.min(missing, grant.left);
      grant.left -= drawn;
      missing -= drawn;
      if (drawn > 0) draws.push({ grant: grant.number, units: drawn });
    }
    this.#debt += missing;
    return { units, number: ++this.#number, draws };
  }

  /** Returns units of a charge: to debt, then to where they came from, the last first. */
  giveBack(units: number, { number, draws }: ModelCharge): void {
    let left = number <= this.#pardon.number ? Math.min(units, this.#pardon.units) : units;
    if (number <= this.#pardon.number) this.#pardon.units -= left;
    left -= this.#payDebt(left);
    for (const draw of draws.toReversed()) {
      const mine = Math.min(left, draw.units);
      left -= mine;
      this.#fill(draw.grant, mine);
    }
  }

  /** An operator's refund. Returns how many units it returned. */
  refund(units: number): number {
    const paid = this.#payDebt(units);
    const back = paid + this.#fill(0, units - paid);
    const drawn = this.#grants.reduce((sum, { amount, left }) => sum + amount - left, 0);
    if (back > 0) this.#pardon = { number: this.#number, units: drawn };
    return back;
  }

  reset(): void {
    this.refund(Number.MAX_SAFE_INTEGER);
  }

  adjust(units: number): void {
    if (units < 0) {
      this.charge(-units);
      return;
    }
    const quota = this.#find(0) as ModelGrant;
    quota.left += units - this.#payDebt(units);
    quota.amount = Math.max(quota.amount, quota.left);
  }

  changeQuota(quota: number): void {
    const difference = quota - this.#quota;
    const grant = this.#find(0);
    this.#quota = quota;
    if (grant === undefined) return;
    grant.amount += difference;
    if (difference < 0) {
      const taken = Math.min(-difference, grant.left);
      grant.left -= taken;
      this.#owed += -difference - taken;
      return;
    }
    const repaid = Math.min(difference, this.#owed);
    this.#owed -= repaid;
    grant.left += difference - repaid - this.#payDebt(difference - repaid);
  }

  /** What expires first is used first, and the quota of the period last. */
  get #inOrder(): ModelGrant[] {
    const rank = ({ number }: ModelGrant) => (number === 0 ? Number.POSITIVE_INFINITY : number);
    return this.#grants.toSorted(
      (a, b) => a.expiresAtMs - b.expiresAtMs || Math.sign(rank(a) - rank(b)),
    );
  }

  #find(number: number): ModelGrant | undefined {
    return this.#grants.find((grant) => grant.number === number);
  }

  #end(number: number): void {
    this.#grants = this.#grants.filter((grant) => grant.number !== number);
  }

  #fill(number: number, units: number): number {
    const grant = this.#find(number);
    if (grant === undefined) return 0;
    const taken = Math.max(0, Math.min(units, grant.amount - grant.left));
    grant.left += taken;
    return taken;
  }

  #payDebt(units: number): number {
    const paid = Math.min(units, this.#debt);
    this.#debt -= paid;
    return paid;
  }
}
