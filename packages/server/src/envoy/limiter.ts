// Decides a request of Envoy: its descriptors are matched and become the charges of one decision, so that a
// request which is refused costs nothing. What the protocol has besides (hits of 0, quota mode, hits given
// back) takes a longer way.

import type { Charge, ChargeReceipt, Clock, MaybePromise, Store, Verdict } from "sluice";
import type { Judgement } from "../telemetry/telemetry.js";
import { NEVER, toJudgements, toResponse } from "./answer.js";
import {
  type Ask,
  isAnyRefused,
  isCounted,
  isLookedAt,
  isNever,
  isNoneOf,
  isPlain,
  isRefunded,
  isTaken,
  isTakenAsSpent,
  NOTHING,
  type Verdicts,
  withoutReplaced,
} from "./asks.js";
import {
  type Descriptor,
  type RateLimitRequest,
  type RateLimitResponse,
  UNIT_MS,
} from "./messages.js";
import type { EnvoyRules } from "./rules.js";

/** The request can't be decided; the message says why and shows nothing of it. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

/** The most descriptors of a request, and entries of a descriptor. */
export const DESCRIPTORS_MAX = 128;
/** See {@link DESCRIPTORS_MAX}. */
export const ENTRIES_MAX = 64;
/** Hits beyond it count as so many: no limit has room for them, and sums of them stay exact. */
const HITS_MAX = 2 ** 44;

/** Told of each decision, with what each limit said. */
export type OnJudged = (isAllowed: boolean, judgements: readonly Judgement[]) => void;

/** What a limiter is made with. */
export interface LimiterParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly rules: EnvoyRules;
  readonly onJudged?: OnJudged;
}

/** Decides requests. */
export class EnvoyLimiter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #onJudged: OnJudged | undefined;
  #rules: EnvoyRules;

  constructor({ store, clock, rules, onJudged }: LimiterParts) {
    this.#store = store;
    this.#clock = clock;
    this.#onJudged = onJudged;
    this.#rules = rules;
    this.#prepare();
  }

  /** The rules in force. */
  get rules(): EnvoyRules {
    return this.#rules;
  }

  /** Puts other rules in force. What was used stays used. */
  replace(rules: EnvoyRules): void {
    this.#rules = rules;
    this.#prepare();
  }

  /**
   * The answer to a request.
   *
   * @throws RequestError if it is none that can be answered.
   */
  decide(request: RateLimitRequest): MaybePromise<RateLimitResponse> {
    checkRequest(request);
    const asks = this.#resolve(request);
    const nowMs = this.#clock.now();
    return asks.every(isPlain) ? this.#decidePlain(asks, nowMs) : this.#decideMixed(asks, nowMs);
  }

  #prepare(): void {
    for (const limit of this.#rules.limits) this.#store.prepare?.(limit);
  }

  #resolve({ domain, descriptors, hits }: RateLimitRequest): readonly Ask[] {
    const asks = descriptors.map((descriptor): Ask => {
      const match = this.#rules.match(domain, descriptor);
      if (match === undefined) return NOTHING;
      return {
        rule: match.rule,
        key: match.key,
        hits: Math.min(descriptor.hits ?? Math.max(1, hits), HITS_MAX),
        isSpent: descriptor.hits !== undefined && descriptor.hits > 1,
        isRefund: descriptor.isNegative,
      };
    });
    return withoutReplaced(asks);
  }

  /** Every limit is counted, and all must pass. */
  #decidePlain(asks: readonly Ask[], nowMs: number): MaybePromise<RateLimitResponse> {
    const charges = this.#toCharges(asks, nowMs);
    if (charges.length === 0) return this.#finish(asks, [], false, nowMs);
    if (charges.length === 1 && this.#store.decideOne !== undefined) {
      const [{ counter, key, cost, nowMs: atMs }] = charges;
      return andThen(this.#store.decideOne(counter, key, cost, atMs, nowMs), (verdict) =>
        this.#answer(asks, [verdict], nowMs),
      );
    }
    return andThen(this.#store.decide(charges, { blockNowMs: nowMs }), ({ verdicts }) =>
      this.#answer(asks, verdicts, nowMs),
    );
  }

  #answer(
    asks: readonly Ask[],
    decided: readonly Verdict[],
    nowMs: number,
  ): MaybePromise<RateLimitResponse> {
    const verdicts = spread(asks, decided, isCounted);
    return this.#finish(asks, verdicts, isAnyRefused(asks, verdicts), nowMs);
  }

  /** The long way: what is only looked at or given back first, then what is counted. */
  async #decideMixed(asks: readonly Ask[], nowMs: number): Promise<RateLimitResponse> {
    const verdicts: (Verdict | undefined)[] = asks.map((ask) => (isNever(ask) ? NEVER : undefined));
    const fill = (kind: (ask: Ask) => boolean, decided: readonly Verdict[]) => {
      for (const [i, verdict] of spread(asks, decided, kind).entries()) {
        verdicts[i] = verdict ?? verdicts[i];
      }
    };
    fill(isRefunded, await this.#refund(asks.filter(isRefunded), nowMs));
    fill(isLookedAt, await this.#peek(asks.filter(isLookedAt), nowMs));
    const counted = asks.filter(isTaken);
    if (isAnyRefused(asks, verdicts)) {
      fill(isTaken, await this.#peek(counted, nowMs));
      return this.#finish(asks, verdicts, true, nowMs);
    }
    const { decided, receipts } = await this.#take(counted, nowMs);
    fill(isTaken, decided);
    if (!isAnyRefused(asks, verdicts) && !isNoneOf(asks, verdicts)) {
      return this.#finish(asks, verdicts, false, nowMs);
    }
    if (receipts.length > 0) {
      await this.#store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
      fill(isTaken, await this.#peek(counted, nowMs));
    }
    return this.#finish(asks, verdicts, true, nowMs);
  }

  /** Charges all or nothing, in a way that can be taken back at once. */
  async #take(
    asks: readonly Ask[],
    nowMs: number,
  ): Promise<{ decided: readonly Verdict[]; receipts: readonly ChargeReceipt[] }> {
    if (asks.length === 0) return { decided: [], receipts: [] };
    const options = { blockNowMs: nowMs, hold: "briefly" } as const;
    const charges = this.#toCharges(asks, nowMs);
    const { verdicts: decided, receipts } = await this.#store.decide(charges, options);
    return { decided, receipts };
  }

  /** Hits that were spent already count even so, each as far as there is room: Envoy tells of them once. */
  #finish(
    asks: readonly Ask[],
    verdicts: Verdicts,
    isRefused: boolean,
    nowMs: number,
  ): MaybePromise<RateLimitResponse> {
    this.#onJudged?.(!isRefused, toJudgements(asks, verdicts));
    const response = toResponse(asks, verdicts, isRefused, nowMs);
    if (!isRefused || !asks.some(isTakenAsSpent)) return response;
    const spent = asks.flatMap((ask, i): Ask[] => {
      const left = verdicts[i]?.remaining ?? 0;
      if (!isTakenAsSpent(ask) || left === 0) return [];
      return [{ ...ask, hits: Math.min(ask.hits, left) }];
    });
    if (spent.length === 0) return response;
    // Each by itself, as a shadow is.
    const charges = this.#toCharges(spent, nowMs).map((charge) => ({ ...charge, shadow: true }));
    return andThen(this.#store.decide(charges, { blockNowMs: nowMs }), () => response);
  }

  async #refund(asks: readonly Ask[], nowMs: number): Promise<readonly Verdict[]> {
    if (asks.length === 0) return [];
    const charges = this.#toCharges(asks, nowMs);
    await this.#store.refund(charges);
    return this.#store.peek(
      charges.map((charge) => ({ ...charge, cost: 0 })),
      { blockNowMs: nowMs },
    );
  }

  async #peek(asks: readonly Ask[], nowMs: number): Promise<readonly Verdict[]> {
    if (asks.length === 0) return [];
    return this.#store.peek(this.#toCharges(asks, nowMs), { blockNowMs: nowMs });
  }

  #toCharges(asks: readonly Ask[], nowMs: number): Charge[] {
    const charges: Charge[] = [];
    for (const { rule, key, hits } of asks) {
      if (rule?.counter === undefined) continue;
      const { counter } = rule;
      const atMs = counter.limit.algorithm === "quota" ? this.#wallMs(nowMs) : nowMs;
      // Looking asks whether one hit would pass: with nothing left, the answer is no.
      const charge = { counter, key, cost: Math.max(1, hits), nowMs: atMs };
      charges.push(rule.isShadow || rule.isQuota ? { ...charge, shadow: true } : charge);
    }
    return charges;
  }

  #wallMs(nowMs: number): number {
    return this.#clock.wall === undefined ? nowMs : this.#clock.wall();
  }
}

/** Verdicts of some asks, at the places of these among all. */
function spread(
  asks: readonly Ask[],
  decided: readonly Verdict[],
  isOne: (ask: Ask) => boolean,
): (Verdict | undefined)[] {
  let next = 0;
  return asks.map((ask) => (isOne(ask) ? decided[next++] : undefined));
}

function checkRequest({ domain, descriptors }: RateLimitRequest): void {
  if (domain === "") throw new RequestError("the domain is empty");
  if (descriptors.length === 0) throw new RequestError("there are no descriptors");
  if (descriptors.length > DESCRIPTORS_MAX) {
    throw new RequestError(
      `${descriptors.length} descriptors, at most ${DESCRIPTORS_MAX} are decided`,
    );
  }
  for (const descriptor of descriptors) checkDescriptor(descriptor);
}

function checkDescriptor({ entries, limit }: Descriptor): void {
  if (entries.length > ENTRIES_MAX) {
    throw new RequestError(
      `${entries.length} entries in a descriptor, at most ${ENTRIES_MAX} are read`,
    );
  }
  if (limit !== undefined && (limit.unit < 1 || limit.unit >= UNIT_MS.length)) {
    throw new RequestError(`the unit of a limit is ${limit.unit}`);
  }
}

function andThen<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
