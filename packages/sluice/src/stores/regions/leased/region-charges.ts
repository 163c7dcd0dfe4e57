// One charge of a rule with `across: leased`, outside the home region: out of the region's deposits if they cover it, else
// by the home region, together with the next lease if one is worth while.

import type { Clock } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { drop } from "../../../base/maybe-promise.js";
import type {
  DepositAnswer,
  DepositPart,
  DepositPlace,
  DepositStore,
} from "../../deposit-store.js";
import type { Charge, ChargeReceipt, DecideOptions, PeekOptions, Store } from "../../store.js";
import { HomeRequests, type RegionAsk } from "./home-requests.js";
import type { AllHomeTerms } from "./home-terms.js";
import type { RegionLeasedTally } from "./region-leased-stats.js";
import { RegionProof, toReceipt } from "./region-proof.js";

/** What leases between regions are made of. */
export interface RegionLeasedSetup {
  /** The region's own store, and the deposits in it. */
  readonly region: Store;
  readonly deposits: DepositStore;
  readonly home: Store;
  readonly clock: Clock;
  readonly terms: AllHomeTerms;
  readonly regionLeaseMs: number;
  /** How long a process may spend what it leases on: that has to end before the lease that it comes from. */
  readonly leaseMs: number;
  /** How many regions share a limit. */
  readonly regions: number;
  readonly tally: RegionLeasedTally;
  /** Whether this region is the home region itself, whose store then decides directly. Default: it never is. */
  readonly isHome?: () => boolean;
}

/** How one charge was decided: its verdict, and how to undo it. */
export interface Decided {
  readonly verdict: Verdict;
  /** Undefined if nothing was charged. */
  readonly receipt: ChargeReceipt | undefined;
}

/** Decides charges. */
export class RegionCharges {
  readonly requests: HomeRequests;
  readonly #setup: RegionLeasedSetup;

  constructor(setup: RegionLeasedSetup) {
    this.#setup = setup;
    this.requests = new HomeRequests(setup);
  }

  /** Decides a charge by itself. */
  async decide(charge: Charge, options: DecideOptions): Promise<Decided> {
    const ask = this.toAsk(charge, options);
    const lifeMsMin = options.hold === "lease" ? this.#setup.leaseMs : 0;
    const taken = await this.take(ask, { lifeMsMin, isNew: true });
    if (taken === undefined) return this.#strictly(charge, ask, options);
    if (taken.blockedMs > 0) return toBlocked(charge, taken);
    if (taken.isCovered) {
      if (taken.isDue) drop(this.#renew(ask, taken));
      return this.#covered(charge, ask, taken);
    }
    const pending = this.requests.pendingOf(ask.place);
    if (pending !== undefined) {
      await pending;
      const again = await this.take(ask, { lifeMsMin, isNew: false });
      if (again?.isCovered) return this.#covered(charge, ask, again);
    } else if (taken.isDue) {
      return this.#fetch(charge, ask, taken, options);
    }
    return this.#strictly(charge, ask, options, taken);
  }

  /** Asks for the cost and a lease in one. If the home region does not have as much, for the cost alone. */
  async #fetch(
    charge: Charge,
    ask: RegionAsk,
    taken: DepositAnswer,
    options: DecideOptions,
  ): Promise<Decided> {
    const units = this.requests.plan(ask, taken);
    if (units < Math.max(1, charge.cost)) {
      const decided = await this.#strictly(charge, ask, options, taken);
      // Now it is known what remains: the next request need not wait.
      if (decided.verdict.allowed) drop(this.#renew(ask, taken));
      return decided;
    }
    const { grant, refusal } = await this.requests.fetch(ask, taken, units, charge.cost);
    if (refusal !== undefined) return { verdict: asWhole(refusal, charge), receipt: undefined };
    if (grant === undefined) return this.#strictly(charge, ask, options, taken);
    this.#setup.tally.homeDecisions++;
    const proof = new RegionProof(ask.place, [{ id: grant.id, units: charge.cost }], undefined);
    return { verdict: asWhole(grant.verdict, charge), receipt: toReceipt(charge, proof) };
  }

  /** Fetches the next lease. */
  async #renew(ask: RegionAsk, taken: DepositAnswer): Promise<void> {
    const { charge, place, blockNowMs } = ask;
    if (!this.requests.knows(place)) {
      // Another process of the region asked for what came before.
      const [verdict] = await this.#setup.home.peek([{ ...charge, cost: 0 }], { blockNowMs });
      this.requests.note(place, verdict);
    }
    const units = this.requests.plan(ask, taken);
    const isOnItsWay = this.requests.pendingOf(place) !== undefined;
    if (units >= 1 && !isOnItsWay) await this.requests.fetch(ask, taken, units, 0);
  }

  async #strictly(
    charge: Charge,
    ask: RegionAsk,
    { hold = false }: DecideOptions,
    taken?: DepositAnswer,
  ): Promise<Decided> {
    const { tally } = this.#setup;
    tally.homeDecisions++;
    const held = hold === "lease" ? "lease" : "briefly";
    const outcome = await this.requests.decide(ask, held);
    const [verdict] = outcome.verdicts;
    if (outcome.allowed) {
      const [receipt] = outcome.receipts as readonly (ChargeReceipt | undefined)[];
      return { verdict: asWhole(verdict, charge), receipt };
    }
    tally.homeRefusals++;
    const topped = await this.#topUp(charge, ask, verdict, taken);
    return topped ?? { verdict: asWhole(verdict, charge), receipt: undefined };
  }

  /** Where neither the region nor home has enough, but both together do. */
  async #topUp(
    charge: Charge,
    ask: RegionAsk,
    { remaining, source }: Verdict,
    taken: DepositAnswer | undefined,
  ): Promise<Decided | undefined> {
    const left = taken?.left ?? 0;
    const { cost } = charge;
    if (left === 0 || left >= cost || remaining + left < cost || source === "fallback")
      return undefined;
    const part = { ...ask, charge: { ...ask.charge, cost: left } };
    const own = await this.take(part, { lifeMsMin: 0, isNew: false });
    if (!own?.isCovered) return undefined;
    const rest = { ...ask, charge: { ...ask.charge, cost: cost - left } };
    const outcome = await this.requests.decide(rest, "briefly");
    if (outcome.allowed) {
      const proof = new RegionProof(ask.place, own.parts, outcome.receipts[0]);
      return { verdict: asWhole(outcome.verdicts[0], charge), receipt: toReceipt(charge, proof) };
    }
    await this.restore(ask.place, own.parts, charge.nowMs);
    return undefined;
  }

  #covered(charge: Charge, { place }: RegionAsk, taken: DepositAnswer): Decided {
    this.#setup.tally.regionDecisions++;
    const verdict: Verdict = {
      allowed: true,
      limit: charge.counter.limit.capacity,
      remaining: taken.left,
      retryAfterMs: 0,
      resetMs: taken.resetMs,
      delayMs: 0,
      source: "store",
    };
    return { verdict, receipt: toReceipt(charge, new RegionProof(place, taken.parts, undefined)) };
  }

  /** Undefined if the region's store does not answer: then the home region decides. */
  async take(
    { charge, place, blockNowMs, atMs }: RegionAsk,
    { lifeMsMin, isNew }: { lifeMsMin: number; isNew: boolean },
  ): Promise<DepositAnswer | undefined> {
    const passedMs = this.#setup.clock.now() - atMs;
    const times = {
      nowMs: Math.floor(charge.nowMs + passedMs),
      blockNowMs: Math.floor(blockNowMs + passedMs),
    };
    try {
      return await this.#setup.deposits.take({
        place,
        units: charge.cost,
        lifeMsMin,
        isNew,
        ...times,
      });
    } catch {
      return undefined;
    }
  }

  /** Returns units to their deposits; what can't be returned stays spent. Never rejects. */
  async restore(place: DepositPlace, parts: readonly DepositPart[], nowMs: number): Promise<void> {
    if (parts.length === 0) return;
    try {
      await this.#setup.deposits.restore(place, parts, nowMs);
    } catch {
      // They return by refill, or with the next window.
    }
  }

  /** A charge as it is asked for in the region and at home. */
  toAsk(charge: Charge, { blockNowMs = charge.nowMs }: PeekOptions): RegionAsk {
    const terms = this.#setup.terms.of(charge.counter);
    const { scope, part } = terms.counter;
    const place = { scope, part, version: terms.version, key: charge.key };
    const { shadow: _, ...plain } = charge;
    const atHome = { ...plain, counter: terms.counter };
    return { charge: atHome, terms, place, blockNowMs, atMs: this.#setup.clock.now() };
  }
}

/** A verdict of the home region, whose limit may be a part of the rule's. */
export function asWhole(verdict: Verdict, { counter }: Charge): Verdict {
  const { capacity: limit } = counter.limit;
  return verdict.limit === limit ? verdict : { ...verdict, limit };
}

/** The refusal of a key that is blocked in this region. */
export function toBlocked({ counter }: Charge, { blockedMs, resetMs }: DepositAnswer): Decided {
  const { capacity: limit } = counter.limit;
  const times = { retryAfterMs: blockedMs, resetMs: Math.max(resetMs, blockedMs), delayMs: 0 };
  return {
    verdict: { allowed: false, limit, remaining: 0, ...times, source: "store", blockedMs },
    receipt: undefined,
  };
}
