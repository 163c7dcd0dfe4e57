// Facts with attributes that functions in code returned: a key, a cost.

import type { Facts } from "../../rules/facts.js";
import { ReadThroughFacts } from "../../rules/read-through-facts.js";

/** By name. */
export type Attributes = NonNullable<Facts["attributes"]>;

/** Facts with attributes added. */
export class AttributedFacts extends ReadThroughFacts {
  readonly #attributes: Attributes;

  constructor(facts: Facts, attributes: Attributes) {
    super(facts);
    this.#attributes = attributes;
  }

  override get attributes(): Attributes {
    const { attributes } = this.facts;
    return attributes === undefined ? this.#attributes : { ...attributes, ...this.#attributes };
  }
}

/** Facts with attributes added, if there are any. */
export function withAttributes(facts: Facts, attributes: Attributes | undefined): Facts {
  return attributes === undefined ? facts : new AttributedFacts(facts, attributes);
}
