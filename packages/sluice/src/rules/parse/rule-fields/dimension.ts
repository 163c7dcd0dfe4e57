// Dimensions of a key as a file writes them: `user`, `subnet:24/48`, `header:x-account`.

import { nearestName } from "../../../base/nearest-name.js";
import { type Shape, stringFor } from "../../../base/shapes/shapes.js";
import type { Dimension } from "../../rule.js";
import { isToken } from "./names.js";

const UNNAMED = ["user", "apiKey", "tenant", "ip", "endpoint", "global"] as const;
const NAMED = ["header", "cookie", "body", "attribute"] as const;
const NAME_LENGTH_MAX = 128;

/** One dimension. */
export const dimension: Shape<Dimension> = stringFor({
  what: `one of ${UNNAMED.join(", ")}, subnet:24/48, ${NAMED.map((kind) => `${kind}:name`).join(", ")}`,
  pattern: `^(${UNNAMED.join("|")}|subnet:[0-9]{1,2}/[0-9]{1,3}|(${NAMED.join("|")}):.+)$`,
  lengthMax: NAME_LENGTH_MAX + "attribute:".length,
  toValue: toDimension,
  toMeant,
});

/** `user` for `usr`, `header:x-id` for `headers:x-id`. */
function toMeant(given: string): string | undefined {
  const colon = given.indexOf(":");
  if (colon < 0) return nearestName(given, UNNAMED);
  const kind = nearestName(given.slice(0, colon), NAMED);
  const meant = `${kind}${given.slice(colon)}`;
  return kind === undefined || toDimension(meant) === undefined ? undefined : meant;
}

function toDimension(given: string): Dimension | undefined {
  const unnamed = UNNAMED.find((kind) => kind === given);
  if (unnamed !== undefined) return Object.freeze({ kind: unnamed });
  const colon = given.indexOf(":");
  const kind = given.slice(0, colon);
  const rest = given.slice(colon + 1);
  if (kind === "subnet") return toSubnet(rest);
  const named = NAMED.find((each) => each === kind);
  if (named === undefined || rest === "" || rest !== rest.trim()) return undefined;
  if ((named === "header" || named === "cookie") && !isToken(rest)) return undefined;
  return Object.freeze({ kind: named, name: named === "header" ? rest.toLowerCase() : rest });
}

function toSubnet(bits: string): Dimension | undefined {
  const [, ipv4, ipv6] = /^(\d{1,2})\/(\d{1,3})$/.exec(bits)?.map(Number) ?? [];
  if (ipv4 === undefined || ipv4 < 1 || ipv4 > 32 || ipv6 < 1 || ipv6 > 128) return undefined;
  return Object.freeze({ kind: "subnet", ipv4, ipv6 });
}
