// Facts as callers of the API write them, brought into the form of the library: names of headers become lower case, and
// an API key becomes the hash that every other listener counts by.

import { hashSecret } from "sluice/http";
import type { Facts } from "sluice/rules";
import {
  anyName,
  anyString,
  anything,
  as,
  objectInPlace,
  optional,
  recordOf,
  required,
  type Shape,
} from "sluice/shapes";

const HEADERS_MAX = 200;
const COOKIES_MAX = 200;
const ATTRIBUTES_MAX = 100;
const BODY_FIELDS_MAX = 100;
const FACT_LENGTH_MAX = 4_096;
const ATTRIBUTE_LENGTH_MAX = 65_536;

const fact = anyString(FACT_LENGTH_MAX);
const fieldValue = anyString(16_384, 0);
const lowerCaseName = as(anyName, (name) => name.toLowerCase());

/** The values that a body field may have if a rule counts by it. */
const bodyValue = anything({ type: ["string", "number", "boolean", "null", "array", "object"] });

const attribute: Shape<string | number> = {
  what: `a string of at most ${ATTRIBUTE_LENGTH_MAX} characters or a number`,
  schema: { type: ["string", "number"], maxLength: ATTRIBUTE_LENGTH_MAX },
  read: (value, spot) => {
    if (typeof value === "number") return value;
    if (typeof value === "string" && value.length <= ATTRIBUTE_LENGTH_MAX) return value;
    return spot.refuse(attribute.what, value);
  },
};

/** How API keys are read. */
export interface ApiKeyReading {
  /** The secret that they are hashed with. */
  readonly keySecret: string | undefined;
  /** Whether they are resolved, and so read as they are. */
  readonly isResolved: boolean;
}

/** The shape of facts. */
export function toFactsShape({ keySecret, isResolved }: ApiKeyReading): Shape<Facts> {
  return objectInPlace(
    {
      method: required(anyString(64), "`GET`, in any case."),
      path: required(anyString(16_384), "As it was sent, with or without its query."),
      host: optional(fact, "The host that was asked for."),
      ip: optional(fact, "The client's address, already found behind proxies."),
      asn: optional(
        attribute,
        "The number of the autonomous system that the address belongs to; if omitted, that of identity.mmdb.",
      ),
      country: optional(
        fact,
        "The country of the address, by two letters; if omitted, that of identity.mmdb.",
      ),
      fingerprint: optional(
        fact,
        "What distinguishes the client's software from others, such as JA4.",
      ),
      user: optional(fact, "Who the user is."),
      apiKey: optional(
        isResolved ? fact : as(fact, (key) => hashSecret(key, keySecret)),
        "The key itself; it is hashed or resolved immediately.",
      ),
      tenant: optional(fact, "Which tenant the user belongs to."),
      tier: optional(fact, "Which of a rule's tiers applies."),
      headers: optional(
        recordOf(lowerCaseName, fieldValue, { countMin: 0, countMax: HEADERS_MAX }),
        "By name, in any case.",
      ),
      cookies: optional(
        recordOf(anyName, fieldValue, { countMin: 0, countMax: COOKIES_MAX }),
        "By name. Values are secrets and are hashed before they are counted by.",
      ),
      body: optional(
        recordOf(anyName, bodyValue, { countMin: 0, countMax: BODY_FIELDS_MAX }),
        "Top-level fields of the body.",
      ),
      attributes: optional(
        recordOf(anyName, attribute, { countMin: 0, countMax: ATTRIBUTES_MAX }),
        "Anything else, by name.",
      ),
    },
    { schema: { description: "What is known about a request." } },
  );
}
