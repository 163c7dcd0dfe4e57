// The refusals of a request handler: a response that says why, and that offers a challenge where solving one would help.

import { warn } from "../../base/errors.js";
import type { Policy } from "../../rules/policy/policy.js";
import type { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import { toChallengeRefusal } from "../challenge/challenge-response.js";
import type { Challenger } from "../challenge/challenger.js";
import type { HttpRequest } from "../identity/http-request.js";
import { sayMissing, toChallenge } from "../response/missing-identity.js";
import { namesOf, type Refusal, RefusalWriter } from "../response/refusal.js";
import { type Jitter, type Retry, toRetry } from "../response/retry-after.js";
import type { HttpSetup } from "./http-options.js";

/** A refusal, and the wait that it states. */
export interface WrittenRefusal {
  readonly retry: Retry;
  readonly refusal: Refusal;
}

/** What refusals depend on. */
export interface RefusalSources {
  readonly policy: Policy;
  readonly setup: HttpSetup;
  /** Undefined if nothing can be solved. */
  readonly challenger: Challenger | undefined;
  /** Whether a function in code returns the key: nothing else has to be identified. */
  readonly isKeyed: boolean;
  readonly jitter: Jitter;
  readonly onError: (error: unknown) => void;
}

/** Writes refusals. */
export class RequestRefusals {
  readonly #sources: RefusalSources;
  readonly #writer: RefusalWriter;
  #hasWarned = false;

  constructor(sources: RefusalSources) {
    const { setup, onError } = sources;
    this.#sources = sources;
    const challenge = toChallenge(setup.identity.apiKeyPlaces);
    this.#writer = new RefusalWriter(setup.body, { challenge, onError });
  }

  /** The response to a refused request. */
  write(
    request: HttpRequest,
    decision: PolicyDecision,
    waitMs: number | undefined,
  ): WrittenRefusal {
    const { challenger, jitter, setup } = this.#sources;
    const retry = toRetry(waitMs, jitter);
    if (challenger === undefined) this.#warnOnce(decision);
    const offered = challenger?.isInForce ? challenger.offer(decision) : undefined;
    if (offered === undefined || setup.challenge === undefined) {
      const missing = this.#missingOf(decision);
      return { retry, refusal: this.#writer.write(decision, retry, request, missing) };
    }
    const said = { names: namesOf(decision), retry };
    return { retry, refusal: toChallengeRefusal(offered, request, said, setup.challenge) };
  }

  /** Warns of a rule that should challenge where nothing is configured to do it with: it only refuses. */
  #warnOnce({ charges }: PolicyDecision): void {
    if (this.#hasWarned || !this.#sources.policy.passClaims.arePossible) return;
    const challenging = charges.find(({ rule }) => rule.definition.onExceed === "challenge");
    if (challenging === undefined) return;
    this.#hasWarned = true;
    warn(
      "SLUICE_CHALLENGE_UNSET",
      `rule ${challenging.rule.definition.id}; see the option challenge`,
    );
  }

  /** What the request is missing; undefined if that is not why it is refused, or if the rule is hidden. */
  #missingOf({ reason, rule: ruleId }: PolicyDecision): string | undefined {
    const { policy, setup, isKeyed } = this.#sources;
    if (reason !== "identity" || ruleId === undefined || isKeyed) return undefined;
    const rule = policy.ruleOf(ruleId);
    if (rule?.isExposed !== true) return undefined;
    return sayMissing(rule.key, setup.identity.apiKeyPlaces);
  }
}
