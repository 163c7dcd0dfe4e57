// Resolves API keys in the facts of the decision API and the admin port, as every other listener does: rules see what
// a key stands for, never the key.

import type { MaybePromise } from "sluice";
import type { ResolvedKey, UnknownKeys } from "sluice/api-keys";
import { type KeyResolver, resolveSentKey } from "sluice/http";
import { andThen } from "sluice/internals";
import { type AdmitOptions, CallerRefusal, type Facts } from "sluice/rules";

/** Resolves the API keys of facts. */
export class SentApiKeys {
  readonly #keyResolver: KeyResolver;
  readonly #unknownKeys: UnknownKeys;

  constructor(keyResolver: KeyResolver, unknownKeys: UnknownKeys = "refuse") {
    this.#keyResolver = keyResolver;
    this.#unknownKeys = unknownKeys;
  }

  /** The facts without the key, and the options that find out what it stands for. */
  toAdmission(
    facts: Facts,
    options: AdmitOptions,
  ): { readonly facts: Facts; readonly options: AdmitOptions } {
    const shown = withoutKey(facts);
    if (facts.apiKey === undefined) return { facts, options };
    const identify = () => this.resolve(facts);
    return { facts: shown, options: { ...options, identify, resolvesApiKey: true } };
  }

  /** The facts with what the key stands for, or why the caller may not pass. */
  resolve(facts: Facts): MaybePromise<Facts | CallerRefusal> {
    const { apiKey } = facts;
    if (apiKey === undefined) return facts;
    const found = resolveSentKey(this.#keyResolver, this.#unknownKeys, apiKey);
    return andThen(found, (answer) => {
      if (answer instanceof CallerRefusal) return answer;
      return answer === undefined ? withoutKey(facts) : withKey(facts, answer);
    });
  }
}

/** The same, without the key. */
export function withoutKey({ apiKey: _, ...facts }: Facts): Facts {
  return facts;
}

/** Tenant, tier, plan and scopes are those of the key, also where it has none. */
function withKey(
  facts: Facts,
  { id, tenant, tier, plan, scopes = [], attributes }: ResolvedKey,
): Facts {
  const all = attributes === undefined ? facts.attributes : { ...facts.attributes, ...attributes };
  return { ...facts, apiKey: id, tenant, tier, plan, scopes, attributes: all };
}
