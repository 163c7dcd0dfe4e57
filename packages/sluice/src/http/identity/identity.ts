// Identity: the facts of a request, as far as they can be trusted. Facts that a request shows are read when a rule
// needs them. Facts that cost more (a token, a function, the body) are read only after the rules that don't need
// them have allowed the request.

import type { Clock } from "../../base/clock.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Facts } from "../../rules/facts.js";
import type { RequestNeeds } from "../../rules/policy/policy-request/admit-options.js";
import { CallerRefusal } from "../../rules/policy/policy-request/caller-refusal.js";
import { type FoundKey, findSentKey } from "./api-keys/key-resolver.js";
import { RequestFacts } from "./facts.js";
import type { HttpRequest } from "./http-request.js";
import type { IdentityOptions, IdentitySetup } from "./identity-options.js";
import { toIdentitySetup } from "./identity-setup.js";
import { askFunction, type Claims, readClaim } from "./sources.js";

export type { KeyAnswer, KeyResolver, UnknownKeys } from "./api-keys/key-resolver.js";
export type { ResolvedKey } from "./api-keys/resolved-key.js";
export type { ClientAddressSource } from "./client-address.js";
export { RequestFacts } from "./facts.js";
export type { ApiKeyOptions, IdentityOptions, TokenVerifier } from "./identity-options.js";
export type {
  ClaimSource,
  Claims,
  FactFunction,
  FactSource,
  HeaderSource,
} from "./sources.js";

/**
 * Makes the identity of a request handler.
 *
 * @param clock - Bounds the time in which a body has to arrive. Default: the system's.
 */
export function toIdentity<Raw>(
  options: IdentityOptions<Raw> | undefined,
  clock?: Clock,
): Identity {
  return new Identity(toIdentitySetup(options, clock));
}

/** Reads facts off requests. Made by {@link toIdentity}. */
export class Identity {
  readonly #setup: IdentitySetup;

  constructor(setup: IdentitySetup) {
    this.#setup = setup;
  }

  /** Where an API key is looked for; undefined if nowhere. */
  get apiKeyPlaces(): IdentitySetup["apiKey"] {
    return this.#setup.apiKey;
  }

  /** Whether API keys are resolved. */
  get resolvesKeys(): boolean {
    return this.#setup.keyResolver !== undefined;
  }

  /** The address of the client alone, as `read` has it; undefined if there is none. */
  addressOf(request: HttpRequest): string | undefined {
    return this.#setup.clients.of(request);
  }

  /** What the request shows. Each fact is read when it is asked for. */
  read(request: HttpRequest): RequestFacts {
    return new RequestFacts(this.#setup, request);
  }

  /**
   * Finds out the rest about a request: what its API key stands for, then claims of its token, what functions say,
   * fields of its body. Facts that `read` gave are added to; of others only the request counts. Immediately if nothing
   * has to be awaited. Rejects with what a function in code threw. A refusal if the API key may not pass: nothing else
   * is found out then.
   */
  identify(
    request: HttpRequest,
    known: Facts,
    needs: RequestNeeds,
  ): MaybePromise<Facts | CallerRefusal> {
    const facts = known instanceof RequestFacts ? known : this.read(request);
    const { keyResolver } = this.#setup;
    const { sentKey } = facts;
    if (keyResolver === undefined || sentKey === undefined) {
      return this.#learnRest(facts, request, needs);
    }
    const found = findSentKey(keyResolver, this.#setup.unknownKeys, sentKey);
    return isThenable(found)
      ? found.then((known) => this.#takeKey(known, facts, request, needs))
      : this.#takeKey(found, facts, request, needs);
  }

  #takeKey(
    found: FoundKey | CallerRefusal | undefined,
    facts: RequestFacts,
    request: HttpRequest,
    needs: RequestNeeds,
  ): MaybePromise<Facts | CallerRefusal> {
    if (found instanceof CallerRefusal) return found;
    if (found !== undefined) facts.learnKey(found);
    return this.#learnRest(facts, request, needs);
  }

  #learnRest(facts: RequestFacts, request: HttpRequest, needs: RequestNeeds): MaybePromise<Facts> {
    const { claimSources, jwt, functions, body } = this.#setup;
    if (functions.length === 0 && claimSources.length === 0 && !needs.body) return facts;
    const tasks: MaybePromise<void>[] = [];
    for (const source of functions) {
      const ask = () => askFunction(source.name, source.ask, request);
      tasks.push(learnFrom(ask, (value) => facts.learn(source, value)));
    }
    if (jwt !== undefined && claimSources.length > 0) {
      const learn = (claims: Claims | undefined) => {
        for (const source of claimSources) facts.learn(source, readClaim(claims, source.path));
      };
      tasks.push(learnFrom(() => jwt.claimsOf(request), learn));
    }
    if (needs.body) {
      const read = () => request.readBody(body);
      tasks.push(learnFrom(read, (fields) => facts.learnBody(fields)));
    }
    return tasks.some(isThenable) ? Promise.all(tasks).then(() => facts) : facts;
  }
}

/** Turns a throw into a rejection, so that tasks that were started before it are still awaited. */
function learnFrom<T>(find: () => MaybePromise<T>, learn: (found: T) => void): MaybePromise<void> {
  try {
    return andThen(find(), learn);
  } catch (error) {
    return Promise.reject(error);
  }
}
