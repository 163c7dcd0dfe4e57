// A region's reserve: a part of each limit that stays with the regions, split by weights and counted in each region's own
// store. A region uses it when the home region refuses, or can't be reached and `onStoreFailure` refuses. What home
// leases out is the limit without the reserve, so both together never exceed it.

import type { Verdict } from "../../../base/decision.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type {
  Charge,
  ChargeReceipt,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  Store,
} from "../../store.js";
import type { AllHomeTerms } from "./home-terms.js";
import type { RegionLeasedTally } from "./region-leased-stats.js";

/** What a reserve is made of. */
export interface ReservedSetup {
  /** Decides first. */
  readonly inner: Store;
  /** The region's own store. */
  readonly region: Store;
  readonly terms: AllHomeTerms;
  readonly tally: RegionLeasedTally;
}

/** Marks a receipt of the reserve. */
class ReserveProof {
  readonly receipt: ChargeReceipt;

  constructor(receipt: ChargeReceipt) {
    this.receipt = receipt;
  }
}

/** A store with a reserve behind it. */
export class ReservedStore extends ForwardingStore {
  readonly #setup: ReservedSetup;

  constructor(setup: ReservedSetup) {
    super(setup.inner);
    this.#setup = setup;
  }

  override async decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    const outcome = await this.inner.decide(charges, options);
    if (outcome.allowed) return outcome;
    const refused = charges.filter((charge, i) => isRefused(charge, outcome.verdicts[i]));
    const own = this.#toOwn(refused);
    if (own === undefined || charges.some((_, i) => isBlocked(outcome.verdicts[i]))) return outcome;
    const reserve = await this.#setup.region.decide(own, { ...options, hold: holdOf(options) });
    const verdicts = charges.map((charge, i) => {
      const at = refused.indexOf(charge);
      return at < 0 ? outcome.verdicts[i] : toVerdict(reserve.verdicts[at], outcome.verdicts[i]);
    });
    if (!reserve.allowed) return { allowed: false, verdicts, receipts: [] };
    const others = charges.filter((charge) => !refused.includes(charge));
    const rest = await this.#decideRest(others, options, reserve);
    if (rest === undefined) return outcome;
    this.#setup.tally.reserveDecisions++;
    const receipts = options.hold ? [...rest.receipts, ...reserve.receipts.map(toMarked)] : [];
    let next = 0;
    const all = verdicts.map((verdict, i) =>
      refused.includes(charges[i]) ? verdict : rest.verdicts[next++],
    );
    return { allowed: true, verdicts: all, receipts };
  }

  /** The charges that were not refused, or nothing of all: then the reserve gets its units back. */
  async #decideRest(
    others: readonly Charge[],
    options: DecideOptions,
    reserve: Outcome,
  ): Promise<Outcome | undefined> {
    if (others.length === 0) return { allowed: true, verdicts: [], receipts: [] };
    const giveBack = () =>
      this.#setup.region.settle(
        reserve.receipts.map((receipt) => ({ receipt, kept: 0, nowMs: others[0].nowMs })),
      );
    try {
      const rest = await this.inner.decide(others, options);
      if (rest.allowed) return rest;
    } catch (error) {
      await giveBack();
      throw error;
    }
    await giveBack();
    return undefined;
  }

  override async settle(settlings: readonly Settling[]): Promise<void> {
    const own = settlings.flatMap((settling) => {
      const { proof } = settling.receipt;
      return proof instanceof ReserveProof ? [{ ...settling, receipt: proof.receipt }] : [];
    });
    const others = settlings.filter(({ receipt }) => !(receipt.proof instanceof ReserveProof));
    await Promise.all([
      own.length > 0 ? this.#setup.region.settle(own) : undefined,
      others.length > 0 ? this.inner.settle(others) : undefined,
    ]);
  }

  override keep(receipt: ChargeReceipt): void {
    const { proof } = receipt;
    if (proof instanceof ReserveProof) this.#setup.region.keep?.(proof.receipt);
    else this.inner.keep?.(receipt);
  }

  override decideOne(
    counter: Charge["counter"],
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): Promise<Verdict> {
    const decided = this.decide([{ counter, key, cost, nowMs }], { blockNowMs });
    return decided.then(({ verdicts }) => verdicts[0]);
  }

  override async peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): Promise<readonly Verdict[]> {
    const verdicts = await this.inner.peek(charges, options);
    return Promise.all(
      verdicts.map(async (verdict, i) => {
        const own = this.#toOwn([charges[i]]);
        if (own === undefined || isBlocked(verdict)) return verdict;
        const [reserve] = await this.#setup.region.peek(own, options);
        const remaining = Math.min(verdict.limit, verdict.remaining + reserve.remaining);
        if (verdict.allowed) return { ...verdict, remaining };
        return { ...toVerdict(reserve, verdict), remaining };
      }),
    );
  }

  /** The reserve of this region too; those of other regions stay as they are. */
  override async reset(charges: readonly Charge[]): Promise<void> {
    await this.inner.reset(charges);
    const own = charges.flatMap((charge) => this.#toOwn([charge]) ?? []);
    if (own.length > 0) await this.#setup.region.reset(own);
  }

  /** The charges on this region's reserve; undefined if a limit has none. */
  #toOwn(charges: readonly Charge[]): readonly Charge[] | undefined {
    const own: Charge[] = [];
    for (const charge of charges) {
      const { reserve } = this.#setup.terms.of(charge.counter);
      if (reserve === undefined || charge.cost > reserve.limit.capacity) return undefined;
      own.push({ ...charge, counter: reserve });
    }
    return own;
  }
}

function isRefused({ shadow }: Charge, { allowed }: Verdict): boolean {
  return !allowed && shadow !== true;
}

function isBlocked({ blockedMs = 0 }: Verdict): boolean {
  return blockedMs > 0;
}

function holdOf({ hold = false }: DecideOptions): Exclude<DecideOptions["hold"], undefined> {
  return hold === false ? "briefly" : hold;
}

/** The reserve's answer under the whole limit. Refused by both: whichever has room earlier. */
function toVerdict(reserve: Verdict, { limit, retryAfterMs, resetMs }: Verdict): Verdict {
  // An admission ends with the reserve's own window: a process may lease out of it.
  if (reserve.allowed) return { ...reserve, limit };
  const sooner = Math.min(reserve.retryAfterMs, retryAfterMs);
  return { ...reserve, limit, resetMs: Math.max(reserve.resetMs, resetMs), retryAfterMs: sooner };
}

function toMarked(receipt: ChargeReceipt): ChargeReceipt {
  return { ...receipt, proof: new ReserveProof(receipt) };
}
