// Tokens that were verified, by their hash, so that a signature is checked once and not with every request.

import { BoundedMap } from "../../../base/bounded-map.js";
import type { Claims } from "../sources.js";

/** A bounded memory of verified tokens. When it is full the oldest is forgotten. */
export class TokenCache {
  readonly #tokens: BoundedMap<string, { readonly claims: Claims; readonly untilMs: number }>;

  /** @param tokensMax - How many are remembered; 0 remembers none. */
  constructor(tokensMax: number) {
    this.#tokens = new BoundedMap(tokensMax);
  }

  /** The claims of a token that is known and still holds. */
  get(hash: string, nowMs: number): Claims | undefined {
    const found = this.#tokens.get(hash);
    if (found === undefined) return undefined;
    if (nowMs < found.untilMs) return found.claims;
    this.#tokens.delete(hash);
    return undefined;
  }

  /** Remembers a token that holds until then. */
  set(hash: string, claims: Claims, untilMs: number): void {
    this.#tokens.set(hash, { claims, untilMs });
  }
}
