// A request as rules look at it: the facts, and what is derived from them once however many rules ask.
// Nothing is derived before a rule asks for it.

import { toClientAddress } from "./address.js";
import type { Facts } from "./facts.js";
import { toPathSegments } from "./path.js";

/** The facts of one request, normalised on demand. */
export class Subject {
  readonly facts: Facts;
  readonly #ipv6Prefix: number;
  #segments: readonly string[] | undefined;
  #address: string | null | undefined;

  constructor(facts: Facts, ipv6Prefix: number) {
    this.facts = facts;
    this.#ipv6Prefix = ipv6Prefix;
  }

  /** The segments of the normalised path; none for `/`. */
  get segments(): readonly string[] {
    this.#segments ??= toPathSegments(this.facts.path);
    return this.#segments;
  }

  /** The client's address as it is counted, undefined if there is none or it is no address. */
  get address(): string | undefined {
    if (this.#address === undefined) {
      const { ip } = this.facts;
      this.#address =
        ip === undefined ? null : (toClientAddress(ip, { ipv6Prefix: this.#ipv6Prefix }) ?? null);
    }
    return this.#address ?? undefined;
  }
}
