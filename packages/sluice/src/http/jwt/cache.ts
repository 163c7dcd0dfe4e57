// Tokens that were verified, by a hash, so that a signature is looked at once and not with every request.

import type { Claims } from "../identity/sources.js";

/** A bounded memory of verified tokens. When it is full the oldest is forgotten. */
export class TokenCache {
  readonly #tokensMax: number;
  readonly #tokens = new Map<string, { readonly claims: Claims; readonly untilMs: number }>();

  /** @param tokensMax - How many are remembered; 0 remembers none. */
  constructor(tokensMax: number) {
    this.#tokensMax = tokensMax;
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
    if (this.#tokensMax === 0) return;
    if (this.#tokens.size >= this.#tokensMax) this.#forgetOldest();
    this.#tokens.set(hash, { claims, untilMs });
  }

  #forgetOldest(): void {
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest);
  }
}
