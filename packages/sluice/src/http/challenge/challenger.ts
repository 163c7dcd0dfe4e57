// Issues challenges and takes passes. A challenge goes out with a refusal; a pass, which is a challenge with its solution,
// comes back with a later request, in a header or in a cookie. It is looked at only if that request would be refused: then
// it lifts the limit of its key under its rule, once.

import { type Clock, toWholeMs, wallMsOf } from "../../base/clock.js";
import { andThen, isThenable, type MaybePromise, notify } from "../../base/maybe-promise.js";
import type { Facts } from "../../rules/facts.js";
import { toClientAddress } from "../../rules/normalize/address.js";
import type { DecidedRuleCharge } from "../../rules/policy/charges/decided-charge.js";
import type { Policy } from "../../rules/policy/policy.js";
import type { AdmitOptions } from "../../rules/policy/policy-request/admit-options.js";
import type { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import { CallerLimit } from "../caller-limit.js";
import { parseCookies } from "../identity/cookies.js";
import type { HttpRequest } from "../identity/http-request.js";
import { makeRandomId } from "../identity/secrets.js";
import { readSingle } from "../identity/sources.js";
import type { ChallengeSetup, PassRefusal } from "./challenge-options.js";
import { type Challenge, ChallengeTokens, splitPass, type Task } from "./challenge-token.js";
import { isSolution } from "./proof-of-work.js";
import { isProviderToken, ProviderCalls } from "./provider.js";

/** The header in which a script sends a pass, and the cookie in which a browser does. */
export const PASS_HEADER = "sluice-pass";
export const PASS_COOKIE = "sluice-pass";

/** Longer than any pass: a challenge, and a token of a provider. */
const PASS_LENGTH_MAX = 4_096;
/** How much the clocks of servers that share secrets may differ. */
const SKEW_MS = 5_000;

/** A challenge as a response offers it. */
export interface OfferedChallenge {
  readonly token: string;
  readonly task: Task;
  readonly expiresInMs: number;
}

/** What a pass turned out to be: a solved challenge, or the reason for refusing it. */
type ReadPass = { readonly challenge: Challenge; readonly solution: string } | PassRefusal;

/** Challenges the callers of one request handler. */
export class Challenger {
  readonly setup: ChallengeSetup;
  readonly #policy: Policy;
  readonly #clock: Clock;
  readonly #tokens: ChallengeTokens;
  /** Limits the passes that the store, and perhaps a provider, has to be asked about. */
  readonly #asking: CallerLimit;
  readonly #provider: ProviderCalls | undefined;
  /** The version of the rules that was looked at, and whether any of them challenges. */
  #version: string | undefined = undefined;
  #isInForce = false;

  constructor(policy: Policy, setup: ChallengeSetup) {
    this.setup = setup;
    this.#policy = policy;
    this.#clock = policy.clock;
    this.#tokens = new ChallengeTokens(setup.secrets);
    this.#asking = new CallerLimit(policy.clock);
    this.#provider = setup.provider && new ProviderCalls(setup.provider, policy.clock);
  }

  /** Whether a rule in force challenges. If none does, passes are not read. */
  get isInForce(): boolean {
    const { version, rules } = this.#policy;
    if (version !== this.#version) {
      this.#version = version;
      this.#isInForce = rules.rules.some(({ onExceed }) => onExceed === "challenge");
    }
    return this.#isInForce;
  }

  /** A challenge that would lift a refusal; undefined if none would. */
  offer(decision: PolicyDecision): OfferedChallenge | undefined {
    const [charge] = challengedOf(decision);
    if (charge === undefined) return undefined;
    const { lifetimeMs, difficulty, provider } = this.setup;
    const task: Task =
      provider === undefined ? { kind: "work", bits: difficulty } : { kind: "provider" };
    const challenge = { expiresAtMs: this.#wallMs() + lifetimeMs, task, id: makeRandomId() };
    const token = this.#tokens.sign(challenge, this.#toBinding(charge));
    this.#report("issued", charge, undefined);
    return { token, task, expiresInMs: lifetimeMs };
  }

  /** Reads a pass that is to be kept as a cookie: how long it is still good for, or why it is not. */
  inspect(pass: string): { readonly goodForMs: number } | PassRefusal {
    const read = this.#read(pass);
    if (typeof read === "string") return read;
    return { goodForMs: read.challenge.expiresAtMs - this.#wallMs() };
  }

  /** Lifts the limits that refused a request, if it carries passes for them. Returns whether any was lifted. */
  redeem(request: HttpRequest, decision: PolicyDecision, facts: Facts): MaybePromise<boolean> {
    const refused = challengedOf(decision);
    const passes = refused.length === 0 ? [] : passesOf(request);
    let isLifted: MaybePromise<boolean> = false;
    for (const pass of passes) {
      isLifted = andThen(isLifted, (was) =>
        andThen(this.#spend(pass, refused, facts), (is) => was || is),
      );
    }
    return isLifted;
  }

  #spend(pass: string, refused: readonly DecidedRuleCharge[], facts: Facts): MaybePromise<boolean> {
    const read = this.#read(pass);
    if (typeof read === "string") return this.#refusePass(refused[0], read);
    const { challenge, solution } = read;
    const charge = refused.find((each) => challenge.isFor(this.#toBinding(each)));
    if (charge === undefined) return this.#refusePass(refused[0], "other-key");
    if (!this.#asking.check(this.#callerOf(facts)).allowed)
      return this.#refusePass(charge, "too-many");
    return andThen(this.#claim(challenge, solution, facts), (problem) =>
      problem === undefined ? this.#lift(charge) : this.#refusePass(charge, problem),
    );
  }

  /** Reads a pass without asking a store or a provider: one or two hashes of short strings, whatever it holds. */
  #read(pass: string): ReadPass {
    const split = pass.length > PASS_LENGTH_MAX ? undefined : splitPass(pass);
    const challenge = split && this.#tokens.read(split.token);
    if (split === undefined || challenge === undefined) return "forged";
    const leftMs = challenge.expiresAtMs - this.#wallMs();
    // A challenge that would last longer than any can was issued by a clock that is far ahead.
    if (!(leftMs > 0 && leftMs <= this.setup.lifetimeMs + SKEW_MS)) return "expired";
    const { task } = challenge;
    const isByProvider = this.setup.provider !== undefined;
    if ((task.kind === "provider") !== isByProvider) return "unsolved";
    const { token, solution } = split;
    if (task.kind === "provider")
      return isProviderToken(solution) ? { challenge, solution } : "rejected";
    return isSolution(token, solution, task.bits) ? { challenge, solution } : "unsolved";
  }

  /** Not the key that was refused: others may share it, and must be able to pass. */
  #callerOf({ ip, user, apiKey, tenant }: Facts): string {
    const address = ip && toClientAddress(ip, this.#policy.rules);
    return address ?? user ?? apiKey ?? tenant ?? "";
  }

  /** Claims a pass for this request, so that no other can use it, and asks the provider if there is one. */
  #claim({ id }: Challenge, solution: string, facts: Facts): MaybePromise<PassRefusal | undefined> {
    // Before the pass is claimed, so that it can be sent again.
    if (this.#provider?.isFull === true) return "unavailable";
    return andThen(this.#policy.passClaims.claim(id), (claim) => {
      if (claim !== "claimed") return claim === "used" ? "replayed" : "unavailable";
      return this.#provider?.verify(solution, facts);
    });
  }

  /** Refunds what the key used. If the rule was removed meanwhile, or the store fails, nothing is lifted. */
  #lift(charge: DecidedRuleCharge): MaybePromise<boolean> {
    const { key, rule } = charge;
    const { id, passUnits } = rule.definition;
    const toLifted = () => {
      this.#report("passed", charge, undefined);
      return true;
    };
    try {
      const lifted: MaybePromise<unknown> =
        passUnits === undefined
          ? this.#policy.reset(id, key)
          : this.#policy.refund(id, key, passUnits);
      if (!isThenable(lifted)) return toLifted();
      return lifted.then(toLifted, () => this.#refusePass(charge, "unavailable"));
    } catch {
      return this.#refusePass(charge, "unavailable");
    }
  }

  #refusePass(charge: DecidedRuleCharge, reason: PassRefusal): false {
    this.#report("refused", charge, reason);
    return false;
  }

  #report(
    kind: "issued" | "passed" | "refused",
    { rule }: DecidedRuleCharge,
    reason: PassRefusal | undefined,
  ): void {
    notify(() => this.setup.onChallenge?.({ kind, rule: rule.definition.id, reason }));
  }

  #toBinding({ rule, key }: DecidedRuleCharge) {
    return { rule: rule.definition.id, key, place: this.#policy.passClaims.place };
  }

  #wallMs(): number {
    return toWholeMs(wallMsOf(this.#clock));
  }
}

/** The options of a request to a policy; if a rule challenges, with `redeem`, which takes the request's passes. */
export function withRedeem(
  options: AdmitOptions | undefined,
  challenger: Challenger | undefined,
  request: HttpRequest,
  facts: Facts,
): AdmitOptions | undefined {
  if (challenger?.isInForce !== true) return options;
  return { ...options, redeem: (decision) => challenger.redeem(request, decision, facts) };
}

/**
 * The limits that refused, if a pass for each would let the request through: all are of rules that challenge, and none
 * refused because its key is blocked or its store is away. The one that binds is first.
 */
function challengedOf(decision: PolicyDecision): readonly DecidedRuleCharge[] {
  if (decision.allowed || decision.reason !== "limit") return [];
  const refused = decision.charges.filter(({ verdict, shadow }) => !verdict.allowed && !shadow);
  const isLiftable = ({ rule, verdict }: DecidedRuleCharge) =>
    rule.definition.onExceed === "challenge" &&
    verdict.blockedMs === undefined &&
    verdict.retryAfterMs !== Number.POSITIVE_INFINITY;
  if (!refused.every(isLiftable)) return [];
  return refused.toSorted((a, b) => isBinding(b, decision) - isBinding(a, decision));
}

function isBinding({ rule }: DecidedRuleCharge, decision: PolicyDecision): number {
  return rule.definition.id === decision.rule ? 1 : 0;
}

/** What a request brings: in the header, which a script sets on purpose, and in the cookie. */
function passesOf(request: HttpRequest): readonly string[] {
  const sent = readSingle(request, PASS_HEADER);
  const kept = parseCookies(request.headers.cookie)?.[PASS_COOKIE];
  return [...new Set([sent, kept].filter((pass) => pass !== undefined && pass !== ""))] as string[];
}
