// Facts with attributes that functions in code found out: a key, a cost. Everything else is read
// through, so that what was not derived yet is still derived only if a rule asks.

import type { Facts } from "../../rules/facts.js";

/** By name. */
export type Attributes = NonNullable<Facts["attributes"]>;

/** Facts with attributes added. */
export class AttributedFacts implements Facts {
  readonly #facts: Facts;
  readonly #attributes: Attributes;

  constructor(facts: Facts, attributes: Attributes) {
    this.#facts = facts;
    this.#attributes = attributes;
  }

  get method(): string {
    return this.#facts.method;
  }
  get path(): string {
    return this.#facts.path;
  }
  get host(): string | undefined {
    return this.#facts.host;
  }
  get ip(): string | undefined {
    return this.#facts.ip;
  }
  get user(): string | undefined {
    return this.#facts.user;
  }
  get apiKey(): string | undefined {
    return this.#facts.apiKey;
  }
  get tenant(): string | undefined {
    return this.#facts.tenant;
  }
  get tier(): string | undefined {
    return this.#facts.tier;
  }
  get plan(): string | undefined {
    return this.#facts.plan;
  }
  get headers(): Facts["headers"] {
    return this.#facts.headers;
  }
  get cookies(): Facts["cookies"] {
    return this.#facts.cookies;
  }
  get body(): Facts["body"] {
    return this.#facts.body;
  }
  get attributes(): Attributes {
    const { attributes } = this.#facts;
    return attributes === undefined ? this.#attributes : { ...attributes, ...this.#attributes };
  }
}
