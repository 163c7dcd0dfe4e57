// Asks a provider whether a token is good, within a deadline. What happens if it does not answer is the operator's choice.

import { type Clock, startTimer } from "../../base/clock.js";
import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Facts } from "../../rules/facts.js";
import type { ChallengeProvider, PassRefusal } from "./challenge-options.js";

/** Characters that tokens of providers have, and that cookies and headers may hold. */
const TOKEN = /^[\w.~+/=:-]{1,3000}$/;

/**
 * The most calls that wait for a provider at the same time; a pass beyond them is refused. Each pass costs its sender one
 * refused request only, so a flood of them must not become a flood of connections to the provider.
 */
export const PROVIDER_CALLS_MAX = 256;

/** Whether a string can be a provider's token. What can't be one reaches neither a store nor the provider. */
export function isProviderToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Asks a provider. One for each request handler, which counts the calls that were not answered yet. */
export class ProviderCalls {
  readonly #provider: Required<ChallengeProvider>;
  readonly #clock: Clock;
  #waiting = 0;

  constructor(provider: Required<ChallengeProvider>, clock: Clock) {
    this.#provider = provider;
    this.#clock = clock;
  }

  /** Whether a further call would have to wait for others. */
  get isFull(): boolean {
    return this.#waiting >= PROVIDER_CALLS_MAX;
  }

  /** Undefined if the token is good, else why not. Never rejects. */
  verify(token: string, facts: Facts): MaybePromise<PassRefusal | undefined> {
    const { verify, timeoutMs, onFailure } = this.#provider;
    const failed = onFailure === "accept" ? undefined : "unavailable";
    try {
      const answer = verify(token, facts);
      if (!isThenable(answer)) return toRefusal(answer);
      this.#waiting++;
      return new Promise((resolve) => {
        const cancel = startTimer(this.#clock, timeoutMs, () => resolve(failed));
        // A call counts until it ends, also after its deadline: its connection may still be open.
        const settle = (outcome: PassRefusal | undefined) => {
          this.#waiting--;
          cancel();
          resolve(outcome);
        };
        answer.then(
          (isGood) => settle(toRefusal(isGood)),
          () => settle(failed),
        );
      });
    } catch {
      return failed;
    }
  }
}

function toRefusal(isGood: unknown): PassRefusal | undefined {
  return isGood === true ? undefined : "rejected";
}
