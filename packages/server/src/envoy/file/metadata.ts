// What `metadata` of a descriptor says, as JSON: it goes into answers as it is, so it has to stay small.

import { isMap, isScalar, isSeq } from "yaml";
import type { JsonObject, JsonValue } from "../messages.js";
import { isNothing, type YamlField, type YamlSource, type YamlValue } from "./source.js";

/** The most values of a `metadata`, those inside of others and behind aliases included. */
const VALUES_MAX = 1_000;
/** The most characters of a `metadata` as JSON. */
const LENGTH_MAX = 16_384;
const DEPTH_MAX = 16;

/** Reads a `metadata`; undefined if it says nothing. */
export function parseMetadata(
  source: YamlSource,
  field: YamlField | undefined,
): JsonObject | undefined {
  if (field === undefined || isNothing(field.value)) return undefined;
  const count = { left: VALUES_MAX };
  const metadata = toObject(source, field.value, "metadata", count, 0);
  if (count.left < 0) {
    return source.say(field.at, `metadata has more than ${VALUES_MAX} values, or is too deep`);
  }
  if (JSON.stringify(metadata).length > LENGTH_MAX) {
    return source.say(field.at, `metadata is longer than ${LENGTH_MAX} characters`);
  }
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

type Count = { left: number };

function toObject(
  source: YamlSource,
  node: YamlValue,
  what: string,
  count: Count,
  depth: number,
): JsonObject {
  const fields = source.fields(node, what);
  return Object.fromEntries(
    fields.map(({ name, value }) => [name, toJson(source, value, count, depth)]),
  );
}

function toJson(source: YamlSource, node: YamlValue, count: Count, depth: number): JsonValue {
  count.left--;
  // An alias of a node around it would never end.
  if (depth > DEPTH_MAX) count.left = -1;
  if (count.left < 0) return null;
  if (isMap(node)) return toObject(source, node, "metadata", count, depth + 1);
  if (isSeq(node)) {
    const items = source.items(node, "metadata");
    return items.map((item) => toJson(source, item, count, depth + 1));
  }
  if (!isScalar(node) || node.value === null) return null;
  const isNumberOrFlag = typeof node.value === "boolean" || Number.isFinite(node.value);
  return isNumberOrFlag
    ? (node.value as boolean | number)
    : source.text(node, "a value of metadata");
}
