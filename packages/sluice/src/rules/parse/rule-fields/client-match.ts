// What a rule asks of the network that a client's address belongs to, in the form in which requests have it.

import { show } from "../../../base/errors.js";
import type { Shape } from "../../../base/shapes/shapes.js";
import { toAsn, toCountry } from "../../network.js";

/** The number of an autonomous system: `64500`, or `AS64500`. */
export const asn: Shape<string> = {
  what: "the number of an autonomous system, such as 64500 or AS64500",
  schema: {
    anyOf: [
      { type: "integer", minimum: 1, maximum: 0xffffffff },
      { type: "string", pattern: "^(AS)?[0-9]+$" },
    ],
  },
  read: (value, spot) => {
    const isOne = typeof value === "number" || typeof value === "string";
    return (isOne ? toAsn(value) : undefined) ?? spot.refuse(asn.what, value);
  },
};

/** A country by two letters, in upper case. YAML reads a bare `NO` as a string, as this parser has it. */
export const country: Shape<string> = {
  what: "a country by two letters, such as DE",
  schema: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9]$" },
  read: (value, spot) =>
    toCountry(value) ?? spot.say(`must be ${country.what}, got ${show(value)}`),
};
