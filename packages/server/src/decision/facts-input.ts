// Facts as callers of the API write them. What the library wants in another form is changed here: names of
// headers become lower case, and an API key becomes the hash that every other listener counts by.

import { hashSecret } from "sluice/http";
import type { Facts } from "sluice/rules";
import { object, optional, record, required, type Shape, text, textOrNumber } from "./shape.js";

const HEADERS_MAX = 200;
const COOKIES_MAX = 200;
const ATTRIBUTES_MAX = 100;
const BODY_FIELDS_MAX = 100;
const FACT_LENGTH_MAX = 4_096;

/** What may stand in a field of a body that a rule counts by. */
const bodyValue: Shape<unknown> = {
  schema: { type: ["string", "number", "boolean", "null", "array", "object"] },
  read: (value) => value,
};

function apiKey(keySecret: string | undefined): Shape<string> {
  const plain = text({
    lengthMax: FACT_LENGTH_MAX,
    description: "The key itself; it is hashed at once.",
  });
  return { schema: plain.schema, read: (value) => hashSecret(plain.read(value), keySecret) };
}

function fact(description: string): Shape<string> {
  return text({ lengthMax: FACT_LENGTH_MAX, description });
}

/** The shape of facts. */
export function toFactsShape(keySecret: string | undefined): Shape<Facts> {
  return object(
    {
      method: required(text({ lengthMax: 64, description: "`GET`, in any case." })),
      path: required(
        text({ lengthMax: 16_384, description: "As it was sent, with or without its query." }),
      ),
      host: optional(fact("The host that was asked for.")),
      ip: optional(fact("The client's address, already found behind proxies.")),
      user: optional(fact("Who the user is.")),
      apiKey: optional(apiKey(keySecret)),
      tenant: optional(fact("Which tenant the user belongs to.")),
      tier: optional(fact("Which of a rule's tiers holds.")),
      headers: optional(
        record(text({ lengthMin: 0, lengthMax: 16_384 }), {
          countMax: HEADERS_MAX,
          isLowerCase: true,
          description: "By name, in any case.",
        }),
      ),
      cookies: optional(
        record(text({ lengthMin: 0, lengthMax: 16_384 }), {
          countMax: COOKIES_MAX,
          description: "By name. Values are secrets and are hashed before they are counted by.",
        }),
      ),
      body: optional(
        record(bodyValue, {
          countMax: BODY_FIELDS_MAX,
          description: "Top-level fields of the body.",
        }),
      ),
      attributes: optional(
        record(textOrNumber, { countMax: ATTRIBUTES_MAX, description: "Anything else, by name." }),
      ),
    },
    "What is known of a request.",
  );
}
