// Dynamic metadata of an answer, for the filters of Envoy that come after: what was asked, and what the file says under
// `metadata` of the limits that passed, by which a later filter can choose where to send the request.

import {
  CODE,
  type Descriptor,
  type DescriptorStatus,
  type JsonObject,
  type JsonValue,
  type RateLimitRequest,
  UNIT_NAMES,
} from "../messages.js";
import type { DescriptorRequest } from "./descriptor-requests.js";

/** The metadata of an answer with these statuses. */
export function toDynamicMetadata(
  { domain, descriptors, hits }: RateLimitRequest,
  requests: readonly DescriptorRequest[],
  statuses: readonly DescriptorStatus[],
): JsonObject {
  const passed = requests.flatMap(({ rule }, i) =>
    rule?.metadata === undefined || rule.kind === "unlimited" || statuses[i].code !== CODE.ok
      ? []
      : [rule.metadata],
  );
  return {
    domain,
    descriptors: descriptors.map(toDescriptorJson),
    ...(hits === 0 ? {} : { hitsAddend: hits }),
    ...(passed.length === 0 ? {} : { metadata: passed.reduce(merge) }),
  };
}

function toDescriptorJson({ entries, limit, hits }: Descriptor): JsonObject {
  return {
    entries: entries.map(({ key, value }) => `${key}=${value}`),
    ...(limit === undefined
      ? {}
      : { limit: `requests_per_unit:${limit.requestsPerUnit} unit:${UNIT_NAMES[limit.unit]}` }),
    ...(hits === undefined ? {} : { hitsAddend: hits }),
  };
}

/** Both together. Where both have a name the first counts, unless both have objects there, which are merged. */
function merge(first: JsonObject, second: JsonObject): JsonObject {
  const pairs = new Map(Object.entries(first));
  for (const [name, value] of Object.entries(second)) {
    const before = pairs.get(name);
    if (before === undefined) pairs.set(name, value);
    else if (isObject(before) && isObject(value)) pairs.set(name, merge(before, value));
  }
  return Object.fromEntries(pairs);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
