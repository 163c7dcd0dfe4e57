// What each verb does with a body that was read. Every one of them returns the answer as JSON text: at once
// where the store is in this process, else a promise of it.

import type { Decision, MaybePromise, RequestOptions } from "sluice";
import type { Policy, PolicyDecision } from "sluice/rules";
import { andThen, isThenable } from "../base/maybe.js";
import type { Core } from "../core/core.js";
import { toAnswer, toPolicyAnswer } from "./answers.js";
import type { Hold, Holds } from "./holds.js";
import { RESERVATION_MS } from "./holds.js";
import type { Limiters } from "./limiters.js";
import {
  type FactsRequest,
  isFactsRequest,
  isRuleTarget,
  type LimitRequest,
  type RuleTarget,
} from "./verb-inputs.js";

/** The answer to what has no numbers to tell. */
const DONE = '{"ok":true}';

/** What verbs work with. */
export interface VerbsOptions {
  readonly core: Core;
  readonly policy: Policy;
  readonly limiters: Limiters;
  readonly holds: Holds;
}

/** How a request is put, besides its body. */
export interface Call {
  /** Makes the same request, sent twice, count once; undefined if it said no Idempotency-Key. */
  readonly requestId?: string | undefined;
  /** When, by the clock of the core, for what is asked for at one instant; undefined: when its turn comes. */
  readonly nowMs?: number | undefined;
  /** The place of the token that it came with. */
  readonly token: number;
}

/** The verbs. */
export class Verbs {
  readonly #core: Core;
  readonly #policy: Policy;
  readonly #limiters: Limiters;
  readonly #holds: Holds;

  constructor({ core, policy, limiters, holds }: VerbsOptions) {
    this.#core = core;
    this.#policy = policy;
    this.#limiters = limiters;
    this.#holds = holds;
  }

  /** Decides, and charges if allowed. */
  check(request: FactsRequest | LimitRequest, call: Call): MaybePromise<string> {
    return isFactsRequest(request) ? this.#admit(request, call) : this.#check(request, call);
  }

  /**
   * Decides many by `decide`, all at one instant, before it returns: to read clocks for each of them would be a
   * tenth of a decision (bench service/batch).
   */
  together<T>({ token }: Call, decide: (call: Call) => T): T {
    const call = { nowMs: this.#core.clock.now(), token };
    return this.#core.telemetry.together(() => decide(call));
  }

  /** What `check` would answer. */
  peek(request: FactsRequest | LimitRequest, call: Call): MaybePromise<string> {
    if (isFactsRequest(request)) {
      const { facts, cost, results = false } = request;
      const decided = this.#policy.peek(facts, { cost });
      return andThen(decided, (decision) => toPolicyAnswer(decision, { hasResults: results }));
    }
    const { cost } = request;
    const peeked = this.#limiterOf(request, call).peek(
      request.key,
      cost === undefined ? {} : { cost },
    );
    return andThen(peeked, (decision) => toAnswer(decision));
  }

  /** Charges what is settled later. */
  reserve(request: FactsRequest | LimitRequest, call: Call): MaybePromise<string> {
    if (isFactsRequest(request)) {
      const options = { ...toOptions(request.cost, call), hold: true };
      const decided = this.#policy.admit(request.facts, options);
      return andThen(decided, (decision) => this.#tell(decision, request, toReservation(decision)));
    }
    const limiter = this.#limiterOf(request, call);
    const reserved = limiter.reserve(request.key, toOptions(request.cost, call));
    return andThen(reserved, (held) => {
      const { commit, cancel } = held;
      const hold: Hold = { kind: "reservation", commit, cancel };
      return this.#tellInline(held, request, this.#keep(held.allowed, hold, RESERVATION_MS));
    });
  }

  /** Settles the real cost of a reservation. */
  commit({ id, cost }: { id: string; cost: number }): MaybePromise<string> {
    const hold = this.#holds.take(id, "reservation");
    return this.#settle(id, hold, () => hold.commit(cost));
  }

  /** Gives a reservation back. */
  cancel({ id }: { id: string }): MaybePromise<string> {
    const hold = this.#holds.take(id, "reservation");
    return this.#settle(id, hold, () => hold.cancel());
  }

  /** Takes a permit of a concurrency limit. */
  acquire(request: LimitRequest, call: Call): MaybePromise<string> {
    const { limiter, permitMs } = this.#limiters.of(request.limit, request.name, call.token);
    const acquired = limiter.acquire(request.key, toOptions(request.cost, call));
    return andThen(acquired, (held) => {
      const hold: Hold = { kind: "permit", release: held.release };
      return this.#tellInline(held, request, this.#keep(held.allowed, hold, permitMs));
    });
  }

  /** Gives a permit back. */
  release({ id }: { id: string }): MaybePromise<string> {
    const hold = this.#holds.take(id, "permit");
    return this.#settle(id, hold, () => hold.release());
  }

  /** Grants units. */
  refund(
    target: (RuleTarget & { cost?: number | undefined }) | LimitRequest,
    call: Call,
  ): MaybePromise<string> {
    const { key, cost = 1 } = target;
    return andThen(
      isRuleTarget(target)
        ? this.#policy.refund(target.rule, key, cost)
        : this.#limiterOf(target, call).refund(key, cost),
      (refunded) => `{"ok":true,"refunded":${refunded}}`,
    );
  }

  /** Refuses a key for so long. */
  block(
    target: (RuleTarget | LimitRequest) & { forMs: number | null },
    call: Call,
  ): MaybePromise<string> {
    const { key } = target;
    const forMs = target.forMs ?? Number.POSITIVE_INFINITY;
    return andThen(
      isRuleTarget(target)
        ? this.#policy.block(target.rule, key, forMs)
        : this.#limiterOf(target, call).block(key, forMs),
      done,
    );
  }

  /** Ends a block. */
  unblock(target: RuleTarget | LimitRequest, call: Call): MaybePromise<string> {
    return andThen(
      isRuleTarget(target)
        ? this.#policy.unblock(target.rule, target.key)
        : this.#limiterOf(target, call).unblock(target.key),
      (wasBlocked) => `{"ok":true,"wasBlocked":${wasBlocked}}`,
    );
  }

  /** Forgets what a key used. */
  reset(target: RuleTarget | LimitRequest, call: Call): MaybePromise<string> {
    return andThen(
      isRuleTarget(target)
        ? this.#policy.reset(target.rule, target.key)
        : this.#limiterOf(target, call).reset(target.key),
      done,
    );
  }

  /** Why a request would be answered as it would. */
  explain(request: FactsRequest & { all?: boolean | undefined }): MaybePromise<string> {
    const { facts, cost, all = false } = request;
    return andThen(this.#policy.explain(facts, { all, cost }), (found) => JSON.stringify(found));
  }

  #admit(request: FactsRequest, call: Call): MaybePromise<string> {
    const decided = this.#policy.admit(request.facts, toOptions(request.cost, call));
    return isThenable(decided) ? this.#tellLater(decided, request) : this.#tell(decided, request);
  }

  #check(request: LimitRequest, call: Call): MaybePromise<string> {
    const { limiter, isCalendar } = this.#limiters.of(request.limit, request.name, call.token);
    const options = toOptions(request.cost, call);
    // The time of a call is not the calendar's.
    if (isCalendar) options.nowMs = undefined;
    const decided = limiter.check(request.key, options);
    return isThenable(decided)
      ? this.#tellInlineLater(decided, request)
      : this.#tellInline(decided, request);
  }

  #limiterOf({ limit, name }: LimitRequest, { token }: Call) {
    return this.#limiters.of(limit, name, token).limiter;
  }

  #keep(isAllowed: boolean, hold: Hold, forMs: number): string | undefined {
    return isAllowed ? this.#holds.add(hold, forMs) : undefined;
  }

  /** Reports a decision under rules, and answers with it. */
  #tell(decision: PolicyDecision, { facts, results = false }: FactsRequest, hold?: Hold): string {
    this.#core.telemetry.decided("decision", decision, facts);
    const id = hold && this.#keep(decision.allowed, hold, RESERVATION_MS);
    return toPolicyAnswer(decision, { hasResults: results, id });
  }

  /** Reports a decision under a limit that came along, and answers with it. */
  #tellInline(decision: Decision, { key, cost = 1 }: LimitRequest, id?: string): string {
    this.#core.telemetry.decidedInline("decision", key, cost, decision);
    return toAnswer(decision, id);
  }

  // Apart, so that what is answered at once makes no closures (bench service/batch).
  #tellLater(decided: Promise<PolicyDecision>, request: FactsRequest): Promise<string> {
    return decided.then((decision) => this.#tell(decision, request));
  }

  #tellInlineLater(decided: Promise<Decision>, request: LimitRequest): Promise<string> {
    return decided.then((decision) => this.#tellInline(decision, request));
  }

  /** What could not be settled can be tried again. */
  #settle(id: string, hold: Hold, settle: () => MaybePromise<void>): MaybePromise<string> {
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
function toOptions(cost: number | undefined, call: Call): RequestOptions {
  // Field by field: to spread a call that has a time takes longer than the decision.
  const { requestId, nowMs } = call;
  return { cost, requestId, nowMs } as RequestOptions;
}

function done(): string {
  return DONE;
}

function toReservation(decision: PolicyDecision): Hold {
  return {
    kind: "reservation",
    commit: (cost) => decision.finish({ cost }),
    cancel: () => decision.cancel(),
  };
}
