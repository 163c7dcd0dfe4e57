// A door: where requests come in, whatever the framework. It reads the facts, asks the policy and says
// what the response carries; the adapter only moves these between its framework and here.

import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { Policy } from "../rules/policy.js";
import type { PolicyDecision, RequestEnd } from "../rules/policy-decision.js";
import { toFields } from "./headers.js";
import type { Identity } from "./identity.js";
import { type Refusal, toRefusal } from "./refusal.js";
import type { RequestView } from "./request-view.js";

/** What a door answers to a request. */
export interface Passage {
  readonly decision: PolicyDecision;
  /** Names and values in turn, for every response: the RateLimit fields. */
  readonly fields: readonly string[];
  /** The response to send instead of going on; undefined if the request may go on. */
  readonly refusal: Refusal | undefined;
  /** How long the request has to wait before it goes on. */
  readonly delayMs: number;
  /** Whether `finish` has to be called when the response is there or the client is gone. */
  readonly isHeld: boolean;
  /** Settles what the request holds; once, later calls do nothing. */
  finish(end: RequestEnd): MaybePromise<void>;
}

/** Decides requests of one server. */
export class Door {
  readonly #policy: Policy;
  readonly #identity: Identity;

  constructor(policy: Policy, identity: Identity) {
    this.#policy = policy;
    this.#identity = identity;
  }

  /** Decides a request. */
  enter(view: RequestView): MaybePromise<Passage> {
    const facts = this.#identity.read(view);
    return andThen(this.#policy.admit(facts), toPassage);
  }
}

function toPassage(decision: PolicyDecision): Passage {
  return {
    decision,
    fields: toFields(decision),
    refusal: decision.allowed ? undefined : toRefusal(decision),
    delayMs: decision.delayMs,
    isHeld: decision.isHeld,
    finish: (end) => decision.finish(end),
  };
}
