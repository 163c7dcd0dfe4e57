// Decides a request of Envoy: its descriptors are matched and become the charges of one decision, so that a
// refused request costs nothing. The rest of the protocol (hits of 0, quota mode, refunded hits) takes a longer
// path.

import type { Charge, ChargeReceipt, Clock, MaybePromise, Store, Verdict } from "sluice";
import { andThen } from "sluice/internals";
import type { LimitVerdict } from "../../telemetry/reported.js";
import { checkRequest } from "../check-request.js";
import type { EnvoyRules } from "../match/descriptor-tree.js";
import type { RateLimitRequest, RateLimitResponse } from "../messages.js";
import {
  type DescriptorRequest,
  isAnyRefused,
  isCharged,
  isChargedAsSpent,
  isCounted,
  isNever,
  isNoneOf,
  isPeeked,
  isRefunded,
  isSimple,
  NOTHING,
  type Verdicts,
  withoutReplaced,
} from "./descriptor-requests.js";
import { toDynamicMetadata } from "./dynamic-metadata.js";
import type { ListedAddresses } from "./listed-addresses.js";
import { NEVER, type ResponseStyle, toLimitVerdicts, toResponse } from "./rate-limit-response.js";
import { isUnknown, RemainingCache } from "./remaining.js";

/** More hits count as this many: no limit has room for them, and sums stay exact. */
const HITS_MAX = 2 ** 44;

/** Called with each decision, and what each limit said. */
export type OnDecided = (isAllowed: boolean, limitVerdicts: readonly LimitVerdict[]) => void;

/** What holds for all limits, whatever their files say. */
export interface Modes {
  /** Every request passes; the statuses say what was over its limit. */
  readonly shadow: boolean;
  /** Every limit is a quota: a request is refused only if all are over. */
  readonly isQuota: boolean;
}

const NO_MODES: Modes = { shadow: false, isQuota: false };
const DEFAULT_STYLE: ResponseStyle = {
  responseHeaders: undefined,
  requestHeaders: undefined,
  dynamicMetadata: false,
};

/** What a limiter is made with. */
export interface LimiterParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly rules: EnvoyRules;
  readonly onDecided?: OnDecided;
  /** Clients that operators refuse or exempt. Default: none. */
  readonly clients?: ListedAddresses;
  /** Default: what the files say. */
  readonly modes?: Modes;
  /** Default: codes, statuses and `retry-after` only. */
  readonly style?: ResponseStyle;
}

/** Decides requests. */
export class EnvoyLimiter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #onDecided: OnDecided | undefined;
  readonly #clients: ListedAddresses | undefined;
  readonly #modes: Modes;
  readonly #style: ResponseStyle;
  /** What is asked about a descriptor that nothing limits. */
  readonly #nothing: DescriptorRequest;
  readonly #remaining: RemainingCache;
  #rules: EnvoyRules;

  constructor(parts: LimiterParts) {
    const { store, clock, rules, onDecided, modes = NO_MODES, style = DEFAULT_STYLE } = parts;
    this.#store = store;
    this.#clock = clock;
    this.#onDecided = onDecided;
    this.#clients = parts.clients;
    this.#modes = modes;
    this.#style = style;
    this.#nothing = { ...NOTHING, isQuota: modes.isQuota };
    this.#remaining = new RemainingCache(store);
    this.#rules = rules;
    this.#prepare();
  }

  /** The rules in force. */
  get rules(): EnvoyRules {
    return this.#rules;
  }

  /** Puts other rules in force. Used units stay used. */
  replace(rules: EnvoyRules): void {
    this.#rules = rules;
    this.#prepare();
  }

  /**
   * The answer to a request.
   *
   * @throws RequestError if it can't be decided.
   */
  decide(request: RateLimitRequest): MaybePromise<RateLimitResponse> {
    checkRequest(request);
    const refusal = this.#clients?.refuse(request);
    if (refusal !== undefined) return refusal;
    const requests =
      this.#clients?.allows(request) === true
        ? request.descriptors.map(() => this.#nothing)
        : this.#resolve(request);
    const nowMs = this.#clock.now();
    const isAllSimple = requests.every(isSimple);
    const decided = isAllSimple
      ? this.#decideTogether(requests, nowMs)
      : this.#decideMixed(requests, nowMs);
    if (!this.#style.dynamicMetadata) return decided;
    return andThen(decided, (response) => ({
      ...response,
      dynamicMetadata: toDynamicMetadata(request, requests, response.statuses),
    }));
  }

  #prepare(): void {
    for (const limit of this.#rules.limits) this.#store.prepare?.(limit);
  }

  #resolve({ domain, descriptors, hits }: RateLimitRequest): readonly DescriptorRequest[] {
    const requests = descriptors.map((descriptor): DescriptorRequest => {
      const match = this.#rules.match(domain, descriptor);
      if (match === undefined) return this.#nothing;
      const { rule, key } = match;
      return {
        rule,
        key,
        hits: Math.min(descriptor.hits ?? Math.max(1, hits), HITS_MAX),
        isSpent: descriptor.hits !== undefined && descriptor.hits > 1,
        isRefund: descriptor.isNegative,
        shadow: rule.shadow || this.#modes.shadow,
        isQuota: (rule.isQuota || this.#modes.isQuota) && rule.kind !== "unlimited",
      };
    });
    return withoutReplaced(requests, this.#nothing);
  }

  /** Every limit is counted, and all must pass. */
  #decideTogether(
    requests: readonly DescriptorRequest[],
    nowMs: number,
  ): MaybePromise<RateLimitResponse> {
    const charges = this.#toCharges(requests, nowMs);
    if (charges.length === 0) return this.#finish(requests, [], false, nowMs);
    if (charges.length === 1 && this.#store.decideOne !== undefined) {
      const [{ counter, key, cost, nowMs: atMs }] = charges;
      return andThen(this.#store.decideOne(counter, key, cost, atMs, nowMs), (verdict) =>
        this.#answer(requests, [verdict], nowMs),
      );
    }
    return andThen(this.#store.decide(charges, { blockNowMs: nowMs }), ({ verdicts }) =>
      this.#answer(requests, verdicts, nowMs),
    );
  }

  #answer(
    requests: readonly DescriptorRequest[],
    decided: readonly Verdict[],
    nowMs: number,
  ): MaybePromise<RateLimitResponse> {
    const verdicts = spread(requests, decided, isCounted);
    return this.#finish(requests, verdicts, isAnyRefused(requests, verdicts), nowMs);
  }

  /** The long way: first what is only read or refunded, then what is counted. */
  async #decideMixed(
    requests: readonly DescriptorRequest[],
    nowMs: number,
  ): Promise<RateLimitResponse> {
    const verdicts: (Verdict | undefined)[] = requests.map((request) =>
      isNever(request) ? NEVER : undefined,
    );
    const fill = (kind: (request: DescriptorRequest) => boolean, decided: readonly Verdict[]) => {
      for (const [i, verdict] of spread(requests, decided, kind).entries()) {
        verdicts[i] = verdict ?? verdicts[i];
      }
    };
    fill(isRefunded, await this.#refund(requests.filter(isRefunded), nowMs));
    fill(isPeeked, await this.#peek(requests.filter(isPeeked), nowMs));
    const counted = requests.filter(isCharged);
    if (isAnyRefused(requests, verdicts)) {
      fill(isCharged, await this.#peek(counted, nowMs));
      return this.#finish(requests, verdicts, true, nowMs);
    }
    const { decided, receipts } = await this.#take(counted, nowMs);
    fill(isCharged, decided);
    if (!isAnyRefused(requests, verdicts) && !isNoneOf(requests, verdicts)) {
      return this.#finish(requests, verdicts, false, nowMs);
    }
    if (receipts.length > 0) {
      await this.#store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs })));
      fill(isCharged, await this.#peek(counted, nowMs));
    }
    return this.#finish(requests, verdicts, true, nowMs);
  }

  /** Charges all or nothing, with receipts to refund it immediately. */
  async #take(
    requests: readonly DescriptorRequest[],
    nowMs: number,
  ): Promise<{ decided: readonly Verdict[]; receipts: readonly ChargeReceipt[] }> {
    if (requests.length === 0) return { decided: [], receipts: [] };
    const options = { blockNowMs: nowMs, hold: "briefly" } as const;
    const charges = this.#toCharges(requests, nowMs);
    const { verdicts: decided, receipts } = await this.#store.decide(charges, options);
    return { decided, receipts };
  }

  #finish(
    requests: readonly DescriptorRequest[],
    verdicts: Verdicts,
    isRefused: boolean,
    nowMs: number,
  ): MaybePromise<RateLimitResponse> {
    // A flood is mostly of single descriptors, of which a refusal says all there is.
    const isWhole = requests.length === 1 && !requests[0].isSpent;
    if (!isRefused || isWhole) return this.#respond(requests, verdicts, isRefused, nowMs);
    const refused = this.#spend(requests, this.#complete(requests, verdicts, nowMs), nowMs);
    return andThen(refused, (whole) => this.#respond(requests, whole, true, nowMs));
  }

  #respond(
    requests: readonly DescriptorRequest[],
    verdicts: Verdicts,
    isRefused: boolean,
    nowMs: number,
  ): RateLimitResponse {
    this.#onDecided?.(!isRefused, toLimitVerdicts(requests, verdicts));
    return toResponse({ requests, verdicts, isRefused, nowMs }, this.#style);
  }

  /** Looks up the descriptors that would pass: a refusal from the deny cache says nothing about them. */
  #complete(
    requests: readonly DescriptorRequest[],
    verdicts: Verdicts,
    nowMs: number,
  ): MaybePromise<Verdicts> {
    if (!verdicts.some(isUnknown)) return verdicts;
    const isUnknownAt = (_: DescriptorRequest, i: number) => isUnknown(verdicts[i]);
    const charges = this.#toCharges(requests.filter(isUnknownAt), nowMs);
    const isFresh = requests.some(isChargedAsSpent);
    return andThen(this.#remaining.of(charges, { nowMs, isFresh }), (found) => {
      let next = 0;
      return verdicts.map((verdict) => (isUnknown(verdict) ? (found[next++] ?? verdict) : verdict));
    });
  }

  /** Hits that were already spent count regardless, as far as there is room: Envoy reports them only once. */
  #spend(
    requests: readonly DescriptorRequest[],
    found: MaybePromise<Verdicts>,
    nowMs: number,
  ): MaybePromise<Verdicts> {
    if (!requests.some(isChargedAsSpent)) return found;
    return andThen(found, (verdicts) => {
      const spent = requests.flatMap((request, i): DescriptorRequest[] => {
        const left = verdicts[i]?.remaining ?? 0;
        if (!isChargedAsSpent(request) || left === 0) return [];
        return [{ ...request, hits: Math.min(request.hits, left) }];
      });
      if (spent.length === 0) return verdicts;
      // Each by itself, as a shadow is.
      const charges = this.#toCharges(spent, nowMs).map((charge) => ({ ...charge, shadow: true }));
      return andThen(this.#store.decide(charges, { blockNowMs: nowMs }), () => verdicts);
    });
  }

  async #refund(
    requests: readonly DescriptorRequest[],
    nowMs: number,
  ): Promise<readonly Verdict[]> {
    if (requests.length === 0) return [];
    const charges = this.#toCharges(requests, nowMs);
    await this.#store.refund(charges);
    return this.#store.peek(
      charges.map((charge) => ({ ...charge, cost: 0 })),
      { blockNowMs: nowMs },
    );
  }

  async #peek(requests: readonly DescriptorRequest[], nowMs: number): Promise<readonly Verdict[]> {
    if (requests.length === 0) return [];
    return this.#store.peek(this.#toCharges(requests, nowMs), { blockNowMs: nowMs });
  }

  #toCharges(requests: readonly DescriptorRequest[], nowMs: number): Charge[] {
    const charges: Charge[] = [];
    for (const { rule, key, hits, shadow, isQuota } of requests) {
      if (rule?.counter === undefined) continue;
      const { counter } = rule;
      const atMs = counter.limit.algorithm === "quota" ? this.#wallMs(nowMs) : nowMs;
      // Looking asks whether one hit would pass: with nothing left, the answer is no.
      const charge = { counter, key, cost: Math.max(1, hits), nowMs: atMs };
      charges.push(shadow || isQuota ? { ...charge, shadow: true } : charge);
    }
    return charges;
  }

  #wallMs(nowMs: number): number {
    return this.#clock.wall === undefined ? nowMs : this.#clock.wall();
  }
}

/** Verdicts of some requests, at the places of these among all. */
function spread(
  requests: readonly DescriptorRequest[],
  decided: readonly Verdict[],
  isOne: (request: DescriptorRequest) => boolean,
): (Verdict | undefined)[] {
  let next = 0;
  return requests.map((request) => (isOne(request) ? decided[next++] : undefined));
}
