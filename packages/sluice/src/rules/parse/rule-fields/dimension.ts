// Dimensions of a key as a file writes them: `user`, `ipPrefix/24`, `header:x-account`.

import { nearestName } from "../../../base/nearest-name.js";
import { type Shape, stringFor } from "../../../base/shapes/shapes.js";
import type { Dimension } from "../../rule.js";
import { isToken } from "./names.js";

const UNNAMED = [
  "user",
  "apiKey",
  "tenant",
  "ip",
  "asn",
  "country",
  "fingerprint",
  "endpoint",
  "global",
] as const;
const NAMED = ["header", "cookie", "body", "attribute"] as const;
const NAME_LENGTH_MAX = 128;

/** One dimension. */
export const dimension: Shape<Dimension> = stringFor({
  what: `one of ${UNNAMED.join(", ")}, ipPrefix, ipPrefix/24, ipPrefix:24/48, ${NAMED.map((kind) => `${kind}:name`).join(", ")}`,
  pattern: `^(${UNNAMED.join("|")}|ipPrefix(/[0-9]{1,3}|:[0-9]{1,2}/[0-9]{1,3})?|subnet:[0-9]{1,2}/[0-9]{1,3}|(${NAMED.join("|")}):.+)$`,
  lengthMax: NAME_LENGTH_MAX + "attribute:".length,
  toValue: toDimension,
  toMeant,
});

/** `user` for `usr`, `header:x-id` for `headers:x-id`. */
function toMeant(given: string): string | undefined {
  const colon = given.indexOf(":");
  if (colon < 0) return nearestName(given, [...UNNAMED, "ipPrefix"]);
  const kind = nearestName(given.slice(0, colon), NAMED);
  const meant = `${kind}${given.slice(colon)}`;
  return kind === undefined || toDimension(meant) === undefined ? undefined : meant;
}

function toDimension(given: string): Dimension | undefined {
  const unnamed = UNNAMED.find((kind) => kind === given);
  if (unnamed !== undefined) return Object.freeze({ kind: unnamed });
  const prefix = /^ipPrefix(?:\/(\d{1,3}))?$/.exec(given);
  if (prefix !== null) return toPrefixOf(prefix[1]);
  const colon = given.indexOf(":");
  const kind = given.slice(0, colon);
  const rest = given.slice(colon + 1);
  // `subnet` is the former name.
  if (kind === "subnet" || kind === "ipPrefix") return toSubnet(rest);
  const named = NAMED.find((each) => each === kind);
  if (named === undefined || rest === "" || rest !== rest.trim()) return undefined;
  if ((named === "header" || named === "cookie") && !isToken(rest)) return undefined;
  return Object.freeze({ kind: named, name: named === "header" ? rest.toLowerCase() : rest });
}

/** What is usually assigned to one site. */
const SITE_BITS = { ipv4: 24, ipv6: 48 };

/** A length of up to 32 bits is that of IPv4 addresses, a longer one of IPv6; the other family keeps its usual length. */
function toPrefixOf(written: string | undefined): Dimension | undefined {
  const { ipv4, ipv6 } = SITE_BITS;
  if (written === undefined) return toSubnet(`${ipv4}/${ipv6}`);
  return toSubnet(Number(written) <= 32 ? `${written}/${ipv6}` : `${ipv4}/${written}`);
}

function toSubnet(bits: string): Dimension | undefined {
  const [, ipv4, ipv6] = /^(\d{1,2})\/(\d{1,3})$/.exec(bits)?.map(Number) ?? [];
  if (ipv4 === undefined || ipv4 < 1 || ipv4 > 32 || ipv6 < 1 || ipv6 > 128) return undefined;
  return Object.freeze({ kind: "ipPrefix", ipv4, ipv6 });
}
