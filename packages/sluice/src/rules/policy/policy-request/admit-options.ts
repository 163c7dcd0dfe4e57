// How a request is put to a policy: what is found out about it on the way, and what is charged for it.

import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { Facts } from "../../facts.js";
import type { CallerRefusal } from "./caller-refusal.js";
import type { PolicyDecision } from "./policy-decision.js";

/** What rules need to know that a request does not show. */
export interface RequestNeeds {
  /** Whether a rule that may match counts by a field of the body. */
  readonly body: boolean;
}

/** The needs of a request with a rule by its body, and of all others. */
export const WITH_BODY: RequestNeeds = { body: true };
export const WITHOUT_BODY: RequestNeeds = { body: false };

/** Finds out the rest about a request, or that its caller may not pass. */
export type Identify = (needs: RequestNeeds) => MaybePromise<Facts | CallerRefusal>;

/** Called with a refusal. Returns whether what refused was lifted. */
export type Redeem = (decision: PolicyDecision) => MaybePromise<boolean>;

/** Options of a request to a policy. */
export interface AdmitOptions {
  /**
   * Finds out the rest: who the caller is, what its body says. Called only if a rule that may match
   * needs it, and only after the rules that don't have admitted the request. Its facts replace those
   * that were there. If it throws or rejects nothing is charged, and the error is the caller's. If it answers with a
   * refusal, what the rules that need no identity have counted stays counted, and no other rule is charged.
   */
  readonly identify?: Identify | undefined;
  /**
   * Whether the request shows an API key that `identify` resolves: it is then called whatever the rules need, and rules
   * that count by API key wait for it. Default false.
   */
  readonly resolvesApiKey?: boolean | undefined;
  /**
   * Makes the same request, sent twice, count once: at most 256 characters. Never take it from an
   * untrusted client.
   */
  readonly requestId?: string | undefined;
  /**
   * The rules that the id is for. `"durable"`: others count the request each time that it is sent, so that the id may be
   * one that a client chose if what stands behind the policy does nothing twice for it. Default `"all"`.
   */
  readonly requestIdFor?: "all" | "durable" | undefined;
  /**
   * What the request costs under every rule that matches, in whole units, instead of what the rules say.
   * Never take it from an untrusted client.
   */
  readonly cost?: number | undefined;
  /**
   * Whether everything that is charged is held: `finish({ cost })` of the decision settles what the request
   * really cost under every rule, and `cancel` refunds all of it. Default false.
   */
  readonly hold?: boolean | undefined;
  /**
   * When the request is made, in milliseconds by the policy's clock: for many that came as one, so that the
   * clock is read once. Quotas go by the calendar regardless. Default: when it is decided.
   */
  readonly nowMs?: number | undefined;
  /**
   * Called if the request is refused: whether what refused it was lifted meanwhile. Then it is decided once more, with
   * all that is known of it by now, and the refusal is not reported. Default: a refusal stands.
   */
  readonly redeem?: Redeem | undefined;
}

/** What holds without options. */
export const NO_OPTIONS: AdmitOptions = {};

/** Options of a request that charges nothing. */
export type CostOptions = Pick<AdmitOptions, "cost" | "nowMs">;
