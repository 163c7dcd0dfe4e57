// The request handler decides one HTTP request, whatever the framework. It reads the facts, asks the policy and says
// what the response carries; an adapter only moves these between its framework and here.

import { wallMsOf } from "../../base/clock.js";
import { andThen, isThenable, type MaybePromise, notify } from "../../base/maybe-promise.js";
import type { Facts } from "../../rules/facts.js";
import { toClientAddress } from "../../rules/normalize/address.js";
import { refuseIfDelayed } from "../../rules/policy/charges/decided-charge.js";
import type { Policy } from "../../rules/policy/policy.js";
import type {
  AdmitOptions,
  RequestNeeds,
} from "../../rules/policy/policy-request/admit-options.js";
import { CallerRefusal } from "../../rules/policy/policy-request/caller-refusal.js";
import { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import { SingleRuleAnswer } from "../../rules/policy/policy-request/single-rule-path.js";
import { answerSolution } from "../challenge/challenge-response.js";
import { Challenger, withRedeem } from "../challenge/challenger.js";
import { type Attributes, withAttributes } from "../identity/attributed-facts.js";
import type { HttpRequest } from "../identity/http-request.js";
import type { Identity, RequestFacts } from "../identity/identity.js";
import { PartitionKey } from "../response/partition-key.js";
import { HeaderWriter } from "../response/rate-limit-headers.js";
import type { Refusal, WholeResponse } from "../response/refusal.js";
import { type Wait, WaitingRoom } from "./delays.js";
import { HandledRequest, type HandledRequestHost } from "./handled-request.js";
import type { HttpSetup } from "./http-options.js";
import { factsOf, keyOf, type Prepare, type SimplePolicy } from "./limits-in-code.js";
import { RateLimitEndpoint, type ReportCaller, toStatusReply } from "./rate-limit-endpoint.js";
import { noteHeld, noteRefused, wasRefused } from "./refused-elsewhere.js";
import { RepeatedRefusals } from "./repeated-refusals.js";
import { toRequestId } from "./request-id.js";
import { RequestRefusals } from "./request-refusals.js";

/** Decides requests of one server. */
export class RequestHandler implements HandledRequestHost {
  readonly policy: Policy;
  readonly #setup: HttpSetup;
  readonly #identity: Identity;
  readonly #prepare: Prepare | undefined;
  readonly #fields: HeaderWriter;
  readonly #refusals: RequestRefusals;
  /** Undefined if nothing is configured to challenge callers with. */
  readonly #challenger: Challenger | undefined;
  readonly #repeated: RepeatedRefusals;
  readonly #waiting: WaitingRoom;
  readonly #endpoint: RateLimitEndpoint;
  /** Present if the policy is the request handler's own. */
  readonly #release: (() => void) | undefined;
  /** Whether a function in code returns the key: nothing else has to be identified. */
  readonly #isKeyed: boolean;

  /** @param simple - For limits in code: the functions to call first. The policy then belongs to the request handler. */
  constructor(policy: Policy, setup: HttpSetup, simple?: Omit<SimplePolicy, "policy">) {
    this.policy = policy;
    this.#setup = setup;
    this.#identity = setup.identity;
    this.#prepare = simple?.prepare;
    this.#release = simple?.release;
    this.#isKeyed = simple?.isKeyed === true;
    const { clock, headers, legacyReset, partitionSecret } = setup;
    const partitionKey =
      partitionSecret === undefined ? undefined : new PartitionKey(partitionSecret);
    this.#fields = new HeaderWriter({ clock, headers, legacyReset, partitionKey });
    const { challenge } = setup;
    const challenger = challenge === undefined ? undefined : new Challenger(policy, challenge);
    this.#challenger = challenger;
    const jitter = { jitterMsMax: setup.retryAfterJitterMs, random: setup.random };
    const onError = (error: unknown) => this.onError(error);
    const isKeyed = this.#isKeyed;
    this.#refusals = new RequestRefusals({ policy, setup, challenger, isKeyed, jitter, onError });
    this.#repeated = new RepeatedRefusals(setup);
    this.#waiting = new WaitingRoom(clock, setup.delayedMax);
    this.#endpoint = new RateLimitEndpoint(clock, jitter);
  }

  /**
   * Decides a request. Throws or rejects with what the framework's error handling has to see: an error
   * of a store under `onStoreFailure: "throw"`, or of a function in code.
   */
  handle(request: HttpRequest): MaybePromise<HandledRequest> {
    const kept = answerSolution(this.#challenger, request);
    if (kept !== undefined) return this.#passUncounted(request, kept);
    const prepare = this.#prepare;
    if (prepare === undefined) return this.#admit(request, undefined);
    return andThen(prepare(request.raw, request.context), (attributes) =>
      attributes === undefined ? this.#passUncounted(request) : this.#admit(request, attributes),
    );
  }

  /** What a handled request shows, as rules would read it: what `handle` found out, if it had to. */
  factsOf(request: HttpRequest, handled: HandledRequest): Facts {
    return handled.facts ?? this.#identity.read(request);
  }

  /** How the caller stands (`GET /rate_limit`), or what `report` answers. Charges no rule; fails as `handle` does. */
  status(request: HttpRequest, report?: ReportCaller): MaybePromise<WholeResponse> {
    const prepare = this.#prepare;
    if (prepare === undefined) return this.#toStatus(request, undefined, report);
    return andThen(prepare(request.raw, request.context), (attributes) =>
      attributes === undefined ? toStatusReply([]) : this.#toStatus(request, attributes, report),
    );
  }

  /** Returns how a request would be decided. Charges nothing; fails as `handle` does. */
  peek(request: HttpRequest): MaybePromise<PolicyDecision> {
    const shown = this.#identity.read(request);
    return andThen(this.#prepare?.(request.raw, request.context), (attributes) =>
      andThen(this.#identify(request, shown, attributes, NO_BODY), (facts) =>
        facts instanceof CallerRefusal ? this.policy.refuse(facts) : this.policy.peek(facts),
      ),
    );
  }

  /** How a key stands: what a `key` function returned, or an address. Charges nothing. */
  peekKey(key: string): MaybePromise<PolicyDecision> {
    return this.policy.peek(factsOf(key, this.#isKeyed));
  }

  /** Forgets what a key has used. */
  resetKey(key: string): MaybePromise<void> {
    return andThen(this.peekKey(key), (decision) => {
      const [charge] = decision.charges;
      return charge === undefined
        ? undefined
        : this.policy.reset(charge.rule.definition.id, charge.key);
    });
  }

  #toStatus(
    request: HttpRequest,
    attributes: Attributes | undefined,
    report: ReportCaller = (facts) => andThen(this.policy.state(facts), toStatusReply),
  ): MaybePromise<WholeResponse> {
    const shown = this.#identity.read(request);
    // Before a token is verified, where possible, so that a refusal is cheap.
    const caller = keyOf(attributes) ?? this.#addressOf(shown);
    const refused = caller === undefined ? undefined : this.#endpoint.refuse(caller);
    if (refused !== undefined) return refused;
    return andThen(this.#identify(request, shown, attributes, NO_BODY), (facts) => {
      if (facts instanceof CallerRefusal)
        return this.#toRefusal(request, this.policy.refuse(facts));
      const late = caller === undefined ? this.#endpoint.refuseNamed(facts) : undefined;
      return late ?? report(facts);
    });
  }

  /** The client's address as rules count it. */
  #addressOf({ ip }: Facts): string | undefined {
    return ip === undefined ? undefined : toClientAddress(ip, this.policy.rules);
  }

  /** Closes the policy, if it belongs to the request handler. */
  async close(): Promise<void> {
    if (this.#release === undefined) return;
    this.#release();
    await this.policy.close();
  }

  wallMs(): number {
    return wallMsOf(this.#setup.clock);
  }

  isRefused(request: unknown): boolean {
    return wasRefused(request);
  }

  /** Reports an error that no request waits for. Exceptions that the callback throws are ignored. */
  onError(error: unknown): void {
    notify(() => this.#setup.onError?.(error));
  }

  #admit(request: HttpRequest, attributes: Attributes | undefined): MaybePromise<HandledRequest> {
    const { resolvesKeys } = this.#identity;
    const isShort = attributes === undefined && !resolvesKeys && !this.#setup.holdCharges;
    const handled = isShort ? this.#admitBySingleRule(request) : undefined;
    if (handled !== undefined) return handled;
    const shown = this.#identity.read(request);
    if (resolvesKeys && this.#startsWithKey(shown, attributes)) {
      const found = this.#identity.identify(request, shown, NO_BODY);
      return isThenable(found)
        ? found.then((known) => this.#admitIdentified(request, shown, known))
        : this.#admitIdentified(request, shown, found);
    }
    const asked = this.#toOptions(request, shown, attributes);
    const options = withRedeem(asked, this.#challenger, request, shown);
    const decided = this.policy.admit(withAttributes(shown, attributes), options);
    if (decided instanceof PolicyDecision) return this.#toHandledRequest(request, decided, shown);
    return decided.then((decision) => this.#toHandledRequest(request, decision, shown));
  }

  /** Whether the API key is resolved before the policy is asked, which then has all facts in one call. */
  #startsWithKey(shown: RequestFacts, attributes: Attributes | undefined): boolean {
    const { requestId, holdCharges } = this.#setup;
    const isKeyEnough = attributes === undefined && requestId === undefined && !holdCharges;
    return isKeyEnough && this.policy.startsWithApiKey && shown.sentKey !== undefined;
  }

  #admitIdentified(
    request: HttpRequest,
    shown: RequestFacts,
    found: Facts | CallerRefusal,
  ): MaybePromise<HandledRequest> {
    const decided =
      found instanceof CallerRefusal
        ? this.policy.admit(shown, { identify: () => found, resolvesApiKey: true })
        : this.policy.admit(found, withRedeem(undefined, this.#challenger, request, found));
    if (decided instanceof PolicyDecision) return this.#toHandledRequest(request, decided, shown);
    return decided.then((decision) => this.#toHandledRequest(request, decision, shown));
  }

  /** Decides on the single-rule path, if the policy has one; undefined if not, and nothing is charged. */
  #admitBySingleRule(request: HttpRequest): MaybePromise<HandledRequest> | undefined {
    const path = this.policy.singleRulePath;
    if (path === undefined || this.#setup.requestId !== undefined) return undefined;
    const ip = this.#identity.addressOf(request);
    const answer = ip === undefined ? undefined : path.decide(ip);
    if (answer === undefined) return undefined;
    if (answer instanceof SingleRuleAnswer) return this.#toSingleRuleHandled(request, answer);
    return answer.then((late) => this.#toSingleRuleHandled(request, late));
  }

  #toSingleRuleHandled(request: HttpRequest, answer: SingleRuleAnswer): HandledRequest {
    const { allowed, source } = answer.verdict;
    if (!allowed) return this.#refuseBySingleRule(request, answer);
    // A fallback knows less about the limit than the short form of the headers shows.
    if (source === "fallback") return this.#toHandledRequest(request, answer.toDecision());
    const lines = this.#fields.writeOne(answer);
    return new HandledRequest(this, request.raw, answer, lines, undefined, undefined);
  }

  #refuseBySingleRule(request: HttpRequest, answer: SingleRuleAnswer): HandledRequest {
    const said = this.#repeated.find(answer);
    if (said?.refusal !== undefined) {
      const decision = this.#repeated.decisionOf(answer, said);
      return this.#toRefused(request, decision, said.lines, said.refusal);
    }
    const handled = this.#toHandledRequest(request, answer.toDecision());
    this.#repeated.keep(answer, handled);
    return handled;
  }

  /** None, and so nothing made, for requests that are decided by what they show. */
  #toOptions(
    request: HttpRequest,
    shown: RequestFacts,
    attributes: Attributes | undefined,
  ): AdmitOptions | undefined {
    const resolvesApiKey = shown.sentKey !== undefined;
    const identify =
      resolvesApiKey || (!this.#isKeyed && this.policy.needsIdentity)
        ? (needs: RequestNeeds) => this.#identify(request, shown, attributes, needs)
        : undefined;
    const { requestId: idOf, requestIdFor, holdCharges: hold } = this.#setup;
    const requestId = idOf === undefined ? undefined : toRequestId(idOf(request.raw));
    if (identify === undefined && requestId === undefined && !hold) return undefined;
    return { identify, requestId, requestIdFor, resolvesApiKey, hold };
  }

  #identify(
    request: HttpRequest,
    shown: RequestFacts,
    attributes: Attributes | undefined,
    needs: RequestNeeds,
  ): MaybePromise<Facts | CallerRefusal> {
    const found = this.#identity.identify(request, shown, needs);
    if (attributes === undefined) return found;
    return andThen(found, (known) =>
      known instanceof CallerRefusal ? known : withAttributes(known, attributes),
    );
  }

  #toRefusal(request: HttpRequest, decision: PolicyDecision): Refusal {
    return this.#refusals.write(request, decision, decision.waitMs).refusal;
  }

  #toHandledRequest(
    request: HttpRequest,
    decision: PolicyDecision,
    facts?: RequestFacts,
  ): HandledRequest {
    const { allowed, delayMs } = decision;
    if (allowed && delayMs === 0) return this.#passNow(request, decision, facts, undefined);
    if (!allowed) return this.#refuse(request, decision, decision.waitMs, facts);
    const wait = this.#waiting.enter(delayMs);
    if (wait === undefined) return this.#turnAway(request, decision, facts);
    return this.#passNow(request, decision, facts, wait);
  }

  #passNow(
    request: HttpRequest,
    decision: PolicyDecision,
    facts: RequestFacts | undefined,
    wait: Wait | undefined,
  ): HandledRequest {
    const lines = this.#fields.write(decision, undefined);
    const handled = new HandledRequest(this, request.raw, decision, lines, undefined, wait, facts);
    if (handled.isHeld) noteHeld(request.raw);
    return handled;
  }

  #passUncounted(request: HttpRequest, answer?: Refusal): HandledRequest {
    const decision = new PolicyDecision(this.policy.version, [], undefined);
    return new HandledRequest(this, request.raw, decision, "", answer, undefined);
  }

  /** Too many requests wait already: this one is refused, with its delay as the time to retry. */
  #turnAway(request: HttpRequest, decision: PolicyDecision, facts?: RequestFacts): HandledRequest {
    const { delayMs } = decision;
    decision.cancel();
    const charges = decision.charges.map(refuseIfDelayed);
    const refused = new PolicyDecision(decision.version, charges, undefined);
    return this.#refuse(request, refused, delayMs, facts);
  }

  #refuse(
    request: HttpRequest,
    decision: PolicyDecision,
    waitMs: number | undefined,
    facts: RequestFacts | undefined,
  ): HandledRequest {
    const { retry, refusal } = this.#refusals.write(request, decision, waitMs);
    const lines = this.#fields.write(decision, retry);
    return this.#toRefused(request, decision, lines, refusal, facts);
  }

  #toRefused(
    { raw }: HttpRequest,
    decision: PolicyDecision,
    lines: string,
    refusal: Refusal,
    facts?: RequestFacts,
  ): HandledRequest {
    const handled = new HandledRequest(this, raw, decision, lines, refusal, undefined, facts);
    noteRefused(raw);
    const { onRefused } = this.#setup;
    if (onRefused !== undefined) {
      notify(
        () => onRefused(handled, raw),
        (error) => this.onError(error),
      );
    }
    return handled;
  }
}

/** A request for the status has no body to read. */
const NO_BODY: RequestNeeds = { body: false };
