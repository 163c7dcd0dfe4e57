// Leases between regions: requests are decided out of budget that their region leased from the home region and that lies
// in the region's own store, where all processes of the region take from it. A lease is nothing but a charge that is held at
// home, so regions together never spend what home did not charge. What a region does not hold, the home region decides:
// keys that are rarely asked for, costs beyond a fair lease, and always reservations and request ids.

import type { Verdict } from "../../../base/decision.js";
import { type MaybePromise, notify } from "../../../base/maybe-promise.js";
import { mergeEqual, spreadVerdicts } from "../../charges.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
} from "../../store.js";
import {
  asWhole,
  type Decided,
  RegionCharges,
  type RegionLeasedSetup,
  toBlocked,
} from "./region-charges.js";
import { RegionProof } from "./region-proof.js";

/** A store that decides out of what its region holds. */
export class RegionLeasedStore extends ForwardingStore {
  readonly #setup: RegionLeasedSetup;
  readonly #charges: RegionCharges;

  constructor(setup: RegionLeasedSetup) {
    super(setup.home);
    this.#setup = setup;
    this.#charges = new RegionCharges(setup);
  }

  override async decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    const { requestId, hold = false } = options;
    const isHome = this.#setup.isHome?.() === true;
    if (isHome || requestId !== undefined || hold === true) {
      return this.#decideAtHome(charges, options);
    }
    const merged = mergeEqual(charges);
    const outcome = await this.#decideAll(merged, options);
    return { ...outcome, verdicts: spreadVerdicts(outcome.verdicts, charges, merged) };
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): Promise<Verdict> {
    const decided = this.decide([{ counter, key, cost, nowMs }], { blockNowMs });
    return decided.then(({ verdicts }) => verdicts[0]);
  }

  /** As without leases: what is held for long, or known by its id, has to outlive any lease. */
  async #decideAtHome(charges: readonly Charge[], options: DecideOptions): Promise<Outcome> {
    this.#setup.tally.homeDecisions++;
    const outcome = await this.inner.decide(this.#toHome(charges), options);
    if (!outcome.allowed) this.#setup.tally.homeRefusals++;
    const verdicts = outcome.verdicts.map((verdict, i) => asWhole(verdict, charges[i]));
    return { ...outcome, verdicts };
  }

  /** Each charge by itself; what passed returns if another is refused. */
  async #decideAll(charges: readonly Charge[], options: DecideOptions): Promise<Outcome> {
    const enforced = charges.filter(({ shadow }) => shadow !== true);
    const settled = await Promise.allSettled(
      enforced.map((charge) => this.#charges.decide(charge, options)),
    );
    const decided = new Map<Charge, Decided>();
    for (const [i, result] of settled.entries()) {
      if (result.status === "fulfilled") decided.set(enforced[i], result.value);
    }
    const failed = settled.find((result) => result.status === "rejected");
    const allowed =
      failed === undefined && [...decided.values()].every(({ verdict }) => verdict.allowed);
    if (!allowed) await this.#undo(decided);
    if (failed !== undefined) throw failed.reason;
    const shadows = charges.filter(({ shadow }) => shadow === true);
    for (const charge of shadows)
      decided.set(charge, await this.#decideShadow(charge, allowed, options));
    const { hold } = options;
    const receipts = charges.flatMap((charge) => {
      const receipt = decided.get(charge)?.receipt;
      return !allowed || !hold || charge.isFinal === true || receipt === undefined ? [] : [receipt];
    });
    const verdicts = charges.map((charge) => (decided.get(charge) as Decided).verdict);
    return { allowed, verdicts, receipts };
  }

  async #decideShadow(
    charge: Charge,
    isCharged: boolean,
    options: DecideOptions,
  ): Promise<Decided> {
    if (isCharged) return this.#charges.decide(charge, options);
    const [verdict] = await this.peek([charge], options);
    return { verdict, receipt: undefined };
  }

  async #undo(decided: ReadonlyMap<Charge, Decided>): Promise<void> {
    const settlings = [...decided].flatMap(([{ nowMs }, { receipt }]) =>
      receipt === undefined ? [] : [{ receipt, kept: 0, nowMs }],
    );
    await this.settle(settlings);
  }

  override async settle(settlings: readonly Settling[]): Promise<void> {
    const atHome = settlings.filter(({ receipt }) => !(receipt.proof instanceof RegionProof));
    const excess: Charge[] = [];
    const restores: Promise<void>[] = [];
    for (const settling of settlings) {
      const { receipt, kept, nowMs } = settling;
      const { proof, counter, key, cost } = receipt;
      if (!(proof instanceof RegionProof) || !proof.close()) continue;
      if (kept > cost) excess.push({ counter, key, cost: kept - cost, nowMs });
      const { ofHome, parts } = proof.back(Math.max(0, cost - kept));
      if (proof.home !== undefined)
        atHome.push({ receipt: proof.home, kept: proof.home.cost - ofHome, nowMs });
      restores.push(this.#charges.restore(proof.place, parts, nowMs));
    }
    await Promise.all([
      ...restores,
      atHome.length > 0 ? this.inner.settle(atHome) : undefined,
      excess.length > 0 ? this.inner.debit(this.#toHome(excess)) : undefined,
    ]);
  }

  override keep(receipt: ChargeReceipt): void {
    const { proof } = receipt;
    if (!(proof instanceof RegionProof)) this.inner.keep?.(receipt);
    else if (proof.close() && proof.home !== undefined) this.inner.keep?.(proof.home);
  }

  /** What the home region has left, and what this region holds. */
  override async peek(
    charges: readonly Charge[],
    options: PeekOptions = {},
  ): Promise<readonly Verdict[]> {
    const held = await Promise.all(
      charges.map((charge) => {
        const ask = this.#charges.toAsk({ ...charge, cost: 0 }, options);
        return this.#charges.take(ask, { lifeMsMin: 0, isNew: false });
      }),
    );
    const asked = this.#toHome(charges).map((charge, i) => {
      const { capacity } = charge.counter.limit;
      const own = charge.cost > capacity ? 0 : (held[i]?.left ?? 0);
      return { ...charge, cost: Math.max(0, charge.cost - own) };
    });
    const verdicts = await this.inner.peek(asked, options);
    return verdicts.map((verdict, i) => {
      const taken = held[i];
      if (taken !== undefined && taken.blockedMs > 0) return toBlocked(charges[i], taken).verdict;
      const left = taken?.left ?? 0;
      const whole = asWhole(verdict, charges[i]);
      return { ...whole, remaining: Math.min(whole.limit, whole.remaining + left) };
    });
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.inner.debit(this.#toHome(charges));
  }

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.inner.refund(this.#toHome(charges));
  }

  /** What this region holds is given up first: the home region's count starts over without it. */
  override async reset(charges: readonly Charge[]): Promise<void> {
    await Promise.all(
      charges.map(async (charge) => {
        const { place } = this.#charges.toAsk(charge, {});
        this.#charges.requests.forget(place);
        const how = { place, id: undefined, idleMsMin: 0, nowMs: charge.nowMs };
        await this.#setup.deposits.withdraw(how);
      }),
    );
    await this.inner.reset(this.#toHome(charges));
  }

  /** In this region immediately; in others when what they hold has expired. */
  override async block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): Promise<void> {
    await this.#setup.region.block(scope, key, until);
    await this.inner.block(scope, key, until);
  }

  override async unblock(scope: string, key: string): Promise<void> {
    await this.#setup.region.unblock(scope, key);
    await this.inner.unblock(scope, key);
  }

  protected override learnBlock(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): void {
    notify(() => this.#setup.region.block(scope, key, until));
  }

  /** Returns what this process leased, then closes the home region's store. */
  override async close(): Promise<void> {
    await this.#charges.requests.close();
    await this.inner.close();
  }

  #toHome(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => {
      const { counter } = this.#setup.terms.of(charge.counter);
      return counter === charge.counter ? charge : { ...charge, counter };
    });
  }
}
