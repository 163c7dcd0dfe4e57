// What a request has to bring before it can be counted, in words for its caller: a 403 that names the header
// saves a look into the rules. Names come from rules and options, never from a request.

import type { Dimension } from "../../rules/rule.js";
import type { ApiKeyPlaces } from "../identity/api-keys/sent-key.js";

/** A sentence without its full stop: `The request has no API key (expected in the X-API-Key header)`. */
export function sayMissing(
  dimensions: readonly Dimension[],
  apiKey: ApiKeyPlaces | undefined,
): string {
  const needed = dimensions.flatMap((dimension) => sayDimension(dimension, apiKey) ?? []);
  if (needed.length === 1) return `The request has no ${needed[0]}`;
  return `The request must have all of these: ${needed.join(", ")}`;
}

/** Undefined if every request has it. */
function sayDimension(dimension: Dimension, apiKey: ApiKeyPlaces | undefined): string | undefined {
  switch (dimension.kind) {
    case "apiKey":
      return `API key${sayPlaces(apiKey)}`;
    case "header":
      return `${toFieldName(dimension.name)} header`;
    case "cookie":
      return `cookie ${dimension.name}`;
    case "body":
      return `field ${dimension.name} in its body`;
    case "attribute":
      return `attribute ${dimension.name}`;
    case "ip":
    case "ipPrefix":
      return "client address";
    case "asn":
      return "address of a known network";
    case "country":
      return "address of a known country";
    case "user":
    case "tenant":
    case "fingerprint":
      return dimension.kind;
    default:
      return undefined;
  }
}

/** `(expected in the X-API-Key header or the query parameter key)`. */
function sayPlaces(places: ApiKeyPlaces | undefined): string {
  if (places === undefined) return "";
  const { header, scheme, query } = places;
  const said = [
    ...(header === undefined ? [] : [`the ${toFieldName(header)} header`]),
    ...(scheme === undefined ? [] : [`the Authorization header, after ${scheme}`]),
    ...(query === undefined ? [] : [`the query parameter ${query}`]),
  ];
  return ` (expected in ${said.join(" or ")})`;
}

/** The value of WWW-Authenticate: what a caller has to send. */
export function toChallenge(places: ApiKeyPlaces | undefined): string {
  const { scheme, header, query } = places ?? NOWHERE;
  if (scheme === "bearer") return 'Bearer error="invalid_token"';
  if (scheme !== undefined) return scheme.slice(0, 1).toUpperCase() + scheme.slice(1);
  if (header !== undefined) return `ApiKey header="${toFieldName(header)}"`;
  return query === undefined
    ? "ApiKey"
    : `ApiKey query=${JSON.stringify(encodeURIComponent(query))}`;
}

const NOWHERE: Partial<ApiKeyPlaces> = {};

/** As it is usually written: `X-API-Key`. */
function toFieldName(name: string): string {
  const parts = name.split("-").map((part) => part.slice(0, 1).toUpperCase() + part.slice(1));
  return parts.join("-").replace(/\bApi\b/, "API");
}
