// What each verb of the decision API does with its input. Each returns the answer as a JSON string: immediately if the
// store is in this process, otherwise as a promise.

import type { Decision, Limiter, MaybePromise, RequestOptions } from "sluice";
import { andThen, isThenable } from "sluice/internals";
import { type AdmitOptions, CallerRefusal, type Policy, type PolicyDecision } from "sluice/rules";
import type { Core } from "../../core/core.js";
import { type SentApiKeys, withoutKey } from "../../core/sent-api-keys.js";
import { toDecisionJson, toPolicyDecisionJson } from "../decision-json/decision-json.js";
import { refuseBlockedKey } from "./blocked-keys.js";
import type { Limiters } from "./limiters.js";
import type { OpenHold, OpenHolds } from "./open-holds.js";
import { RESERVATION_MS } from "./open-holds.js";
import {
  type FactsRequest,
  isFactsRequest,
  isRuleRequest,
  type LimitRequest,
  type RuleRequest,
} from "./verb-inputs.js";

/** The answer of verbs that have nothing to report. */
const DONE = '{"ok":true}';

/** What verbs work with. */
export interface VerbsOptions {
  readonly core: Core;
  readonly policy: Policy;
  readonly limiters: Limiters;
  readonly holds: OpenHolds;
  /** Undefined if API keys are counted by their hash. */
  readonly apiKeys: SentApiKeys | undefined;
}

/** What a call carries besides its body. */
export interface VerbCall {
  /** Makes a request that is sent twice count once; undefined if it has no Idempotency-Key. */
  readonly requestId?: string | undefined;
  /** The time of all requests of a batch, by the clock of the core; undefined: the time when it is decided. */
  readonly nowMs?: number | undefined;
  /** The options of every request of a batch that brings no cost. They are shared and must not be changed. */
  readonly options?: RequestOptions;
  /** The index of the token that it came with. */
  readonly token: number;
}

/** How the keys of a request are checked. */
interface KeyCheck {
  readonly limiter: Limiter<false>;
  readonly options: RequestOptions;
}

/** A verb for keys under a limit, in two steps. */
export interface KeyVerb {
  decide(key: string): MaybePromise<Decision>;
  toAnswer(decision: Decision, key: string): string;
}

/** The verbs. */
export class Verbs {
  readonly #core: Core;
  readonly #policy: Policy;
  readonly #limiters: Limiters;
  readonly #holds: OpenHolds;
  readonly #apiKeys: SentApiKeys | undefined;

  constructor({ core, policy, limiters, holds, apiKeys }: VerbsOptions) {
    this.#core = core;
    this.#policy = policy;
    this.#limiters = limiters;
    this.#holds = holds;
    this.#apiKeys = apiKeys;
  }

  /** Decides, and charges if allowed. */
  check(request: FactsRequest | LimitRequest, call: VerbCall): MaybePromise<string> {
    if (isFactsRequest(request)) return this.#admit(request, call);
    const { key, cost = 1 } = request;
    const decided = this.#checkKey(this.#toKeyCheck(request, call), key);
    return isThenable(decided)
      ? this.#answerInlineLater(decided, key, cost)
      : this.#answerInline(decided, key, cost);
  }

  /** The same under a limit, for other keys than that of the request: what they share is found once. */
  checkKeys(request: LimitRequest, call: VerbCall): KeyVerb {
    const check = this.#toKeyCheck(request, call);
    const { cost = 1 } = request;
    return {
      decide: (key) => this.#checkKey(check, key),
      toAnswer: (decision, key) => this.#answerInline(decision, key, cost),
    };
  }

  #toKeyCheck(request: LimitRequest, call: VerbCall): KeyCheck {
    const { limiter, isCalendar } = this.#limiters.of(request.limit, request.name, call.token);
    const { requestId, token } = call;
    // The time of a call is monotonic; quotas follow the calendar.
    const options = toOptions(request.cost, isCalendar ? { requestId, token } : call);
    return { limiter, options };
  }

  #checkKey({ limiter, options }: KeyCheck, key: string): MaybePromise<Decision> {
    return this.#refuse(key) ?? limiter.check(key, options);
  }

  /**
   * Decides a batch by `decide`, all at one instant: reading the clock for each request would be a tenth of the cost of
   * its decision (bench service/batch).
   */
  together<T>({ token }: VerbCall, decide: (call: VerbCall) => T): T {
    const nowMs = this.#core.clock.now();
    const call = { nowMs, options: { nowMs }, token };
    return this.#core.telemetry.together(() => decide(call));
  }

  /** Returns what `check` would answer. */
  peek(request: FactsRequest | LimitRequest, call: VerbCall): MaybePromise<string> {
    if (isFactsRequest(request)) {
      const { facts, cost, results = false } = request;
      const decided = andThen(this.#apiKeys?.resolve(facts) ?? facts, (known) =>
        known instanceof CallerRefusal
          ? this.#policy.refuse(known)
          : this.#policy.peek(known, { cost }),
      );
      return andThen(decided, (decision) =>
        toPolicyDecisionJson(decision, { hasResults: results }),
      );
    }
    const { key } = request;
    const verb = this.peekKeys(request, call);
    return andThen(verb.decide(key), (decision) => verb.toAnswer(decision, key));
  }

  /** The same under a limit, for other keys than that of the request. */
  peekKeys(request: LimitRequest, call: VerbCall): KeyVerb {
    const { cost } = request;
    const limiter = this.#limiterOf(request, call);
    const options = cost === undefined ? {} : { cost };
    return {
      decide: (key) => this.#refuse(key) ?? limiter.peek(key, options),
      toAnswer: (decision) => toDecisionJson(decision),
    };
  }

  /** Charges a cost that is settled later. */
  reserve(request: FactsRequest | LimitRequest, call: VerbCall): MaybePromise<string> {
    if (isFactsRequest(request)) {
      const options = { ...toOptions(request.cost, call), hold: true };
      const decided = this.#decide(request, options);
      return andThen(decided, (decision) =>
        this.#answer(decision, request, toReservation(decision, call.token)),
      );
    }
    const limiter = this.#limiterOf(request, call);
    const { key, cost = 1 } = request;
    const refused = this.#refuse(key);
    if (refused !== undefined) return this.#answerInline(refused, key, cost);
    const reserved = limiter.reserve(key, toOptions(request.cost, call));
    return andThen(reserved, (held) => {
      const { commit, cancel } = held;
      const hold: OpenHold = { token: call.token, kind: "reservation", commit, cancel };
      return this.#answerInline(held, key, cost, this.#keep(held.allowed, hold, RESERVATION_MS));
    });
  }

  /** Settles a reservation at its real cost. */
  commit({ id, cost }: { id: string; cost: number }): MaybePromise<string> {
    const hold = this.#holds.take(id, "reservation");
    return this.#settle(id, hold, () => hold.commit(cost));
  }

  /** Cancels a reservation. */
  cancel({ id }: { id: string }): MaybePromise<string> {
    const hold = this.#holds.take(id, "reservation");
    return this.#settle(id, hold, () => hold.cancel());
  }

  /** Acquires a permit of a concurrency limit. */
  acquire(request: LimitRequest, call: VerbCall): MaybePromise<string> {
    const { limiter, permitMs } = this.#limiters.of(request.limit, request.name, call.token);
    const { key, cost = 1 } = request;
    const refused = this.#refuse(key);
    if (refused !== undefined) return this.#answerInline(refused, key, cost);
    const acquired = limiter.acquire(key, toOptions(request.cost, call));
    return andThen(acquired, (held) => {
      const hold: OpenHold = { token: call.token, kind: "permit", release: held.release };
      return this.#answerInline(held, key, cost, this.#keep(held.allowed, hold, permitMs));
    });
  }

  /** Releases a permit. */
  release({ id }: { id: string }): MaybePromise<string> {
    const hold = this.#holds.take(id, "permit");
    return this.#settle(id, hold, () => hold.release());
  }

  /** Gives units back. */
  refund(
    target: (RuleRequest & { cost?: number | undefined }) | LimitRequest,
    call: VerbCall,
  ): MaybePromise<string> {
    const { key, cost = 1 } = target;
    return andThen(
      isRuleRequest(target)
        ? this.#policy.refund(target.rule, key, cost, { requestId: call.requestId })
        : this.#limiterOf(target, call).refund(key, cost),
      (refunded) => `{"ok":true,"refunded":${refunded}}`,
    );
  }

  /** Blocks a key for `forMs`, or until it is unblocked if that is null. */
  block(
    target: (RuleRequest | LimitRequest) & { forMs: number | null },
    call: VerbCall,
  ): MaybePromise<string> {
    const { key } = target;
    const forMs = target.forMs ?? Number.POSITIVE_INFINITY;
    return andThen(
      isRuleRequest(target)
        ? this.#policy.block(target.rule, key, forMs)
        : this.#limiterOf(target, call).block(key, forMs),
      done,
    );
  }

  /** Ends a block. */
  unblock(target: RuleRequest | LimitRequest, call: VerbCall): MaybePromise<string> {
    return andThen(
      isRuleRequest(target)
        ? this.#policy.unblock(target.rule, target.key)
        : this.#limiterOf(target, call).unblock(target.key),
      (wasBlocked) => `{"ok":true,"wasBlocked":${wasBlocked}}`,
    );
  }

  /** Forgets what a key has used. */
  reset(target: RuleRequest | LimitRequest, call: VerbCall): MaybePromise<string> {
    return andThen(
      isRuleRequest(target)
        ? this.#policy.reset(target.rule, target.key, { requestId: call.requestId })
        : this.#limiterOf(target, call).reset(target.key),
      done,
    );
  }

  /** Why a request would be answered as it would. */
  explain(request: FactsRequest & { all?: boolean | undefined }): MaybePromise<string> {
    const { facts, cost, all = false } = request;
    return andThen(this.#apiKeys?.resolve(facts) ?? facts, (known) => {
      const isRefused = known instanceof CallerRefusal;
      const explained = this.#policy.explain(isRefused ? withoutKey(facts) : known, { all, cost });
      const refused = isRefused ? { allowed: false, rule: null, reason: known.reason } : {};
      return andThen(explained, (found) => JSON.stringify({ ...found, ...refused }));
    });
  }

  #decide({ facts }: FactsRequest, options: AdmitOptions): MaybePromise<PolicyDecision> {
    if (this.#apiKeys === undefined) return this.#policy.admit(facts, options);
    const admission = this.#apiKeys.toAdmission(facts, options);
    return this.#policy.admit(admission.facts, admission.options);
  }

  #admit(request: FactsRequest, call: VerbCall): MaybePromise<string> {
    const decided = this.#decide(request, toOptions(request.cost, call));
    return isThenable(decided)
      ? this.#answerLater(decided, request)
      : this.#answer(decided, request);
  }

  /** Operators block callers whatever they are counted by; undefined if the key names none that is blocked. */
  #refuse(key: string): Decision | undefined {
    const { callerBlocks, lists } = this.#policy;
    return (callerBlocks ?? lists) && refuseBlockedKey(this.#policy, key);
  }

  #limiterOf({ limit, name }: LimitRequest, { token }: VerbCall) {
    return this.#limiters.of(limit, name, token).limiter;
  }

  #keep(isAllowed: boolean, hold: OpenHold, forMs: number): string | undefined {
    return isAllowed ? this.#holds.add(hold, forMs) : undefined;
  }

  /** Reports a decision under rules, and answers with it. */
  #answer(
    decision: PolicyDecision,
    { facts, results = false }: FactsRequest,
    hold?: OpenHold,
  ): string {
    const seen = this.#apiKeys === undefined ? facts : withoutKey(facts);
    this.#core.telemetry.decided("decision", decision, seen);
    const id = hold && this.#keep(decision.allowed, hold, RESERVATION_MS);
    return toPolicyDecisionJson(decision, { hasResults: results, id });
  }

  /** Reports a decision under a limit that came along, and answers with it. */
  #answerInline(decision: Decision, key: string, cost: number, id?: string): string {
    this.#core.telemetry.decidedInline("decision", key, cost, decision);
    return toDecisionJson(decision, id);
  }

  // Separate methods, so that an immediate answer makes no closures (bench service/batch).
  #answerLater(decided: Promise<PolicyDecision>, request: FactsRequest): Promise<string> {
    return decided.then((decision) => this.#answer(decision, request));
  }

  #answerInlineLater(decided: Promise<Decision>, key: string, cost: number): Promise<string> {
    return decided.then((decision) => this.#answerInline(decision, key, cost));
  }

  /** A hold that could not be settled can be settled later. */
  #settle(id: string, hold: OpenHold, settle: () => MaybePromise<void>): MaybePromise<string> {
    const putBack = (error: unknown): never => {
      this.#holds.putBack(id, hold);
      throw error;
    };
    try {
      const settled = settle();
      return isThenable(settled) ? settled.then(done, putBack) : DONE;
    } catch (error) {
      return putBack(error);
    }
  }
}

/** The options of a call for a limiter or a policy. */
function toOptions(cost: number | undefined, call: VerbCall): RequestOptions {
  // Field by field: spreading a call that has a time takes longer than the decision.
  const { requestId, nowMs, options } = call;
  if (cost === undefined && options !== undefined) return options;
  return { cost, requestId, nowMs } as RequestOptions;
}

function done(): string {
  return DONE;
}

function toReservation(decision: PolicyDecision, token: number): OpenHold {
  return {
    token,
    kind: "reservation",
    commit: (cost) => decision.finish({ cost }),
    cancel: () => decision.cancel(),
  };
}
