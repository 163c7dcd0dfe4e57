// The messages as JSON, by the rules that protocol buffers have for it: names in camelCase or as they are in the
// .proto, numbers also as strings, units by name or number, and nothing that is not known.

import { show } from "../../base/errors.js";
import { RequestError } from "../check-request.js";
import {
  CODE_NAMES,
  type CurrentLimit,
  type Descriptor,
  type DescriptorEntry,
  type DescriptorStatus,
  type LimitOverride,
  type RateLimitRequest,
  type RateLimitResponse,
  UINT32_MAX,
  UNIT_NAMES,
} from "../messages.js";

/**
 * Reads a request.
 *
 * @throws RequestError that names the field.
 */
export function toRequest(text: string): RateLimitRequest {
  const fields = toFields(parseJson(text), "the request", ["domain", "descriptors", "hitsAddend"]);
  return {
    domain: toText(fields.domain, "domain"),
    descriptors: toList(fields.descriptors, "descriptors").map(toDescriptor),
    hits: toWhole(fields.hitsAddend, "hitsAddend", UINT32_MAX),
  };
}

function toDescriptor(value: unknown, i: number): Descriptor {
  const at = `descriptors[${i}]`;
  const fields = toFields(value, at, ["entries", "limit", "hitsAddend", "isNegativeHits"]);
  const { hitsAddend, limit, isNegativeHits } = fields;
  if (!isMissing(isNegativeHits) && typeof isNegativeHits !== "boolean") {
    throw new RequestError(
      `${at}.isNegativeHits must be true or false, got ${show(isNegativeHits)}`,
    );
  }
  return {
    entries: toList(fields.entries, `${at}.entries`).map((entry, j) =>
      toEntry(entry, `${at}.entries[${j}]`),
    ),
    limit: isMissing(limit) ? undefined : toLimit(limit, `${at}.limit`),
    hits: isMissing(hitsAddend)
      ? undefined
      : toWhole(hitsAddend, `${at}.hitsAddend`, Number.MAX_SAFE_INTEGER),
    isNegative: isNegativeHits === true,
  };
}

function toEntry(value: unknown, at: string): DescriptorEntry {
  const fields = toFields(value, at, ["key", "value"]);
  return { key: toText(fields.key, `${at}.key`), value: toText(fields.value, `${at}.value`) };
}

function toLimit(value: unknown, at: string): LimitOverride {
  const fields = toFields(value, at, ["requestsPerUnit", "unit"]);
  return {
    requestsPerUnit: toWhole(fields.requestsPerUnit, `${at}.requestsPerUnit`, UINT32_MAX),
    unit: toUnit(fields.unit, `${at}.unit`),
  };
}

function toUnit(value: unknown, at: string): number {
  if (isMissing(value)) return 0;
  const unit =
    typeof value === "number" ? value : UNIT_NAMES.indexOf(value as (typeof UNIT_NAMES)[number]);
  if (UNIT_NAMES[unit] !== undefined) return unit;
  throw new RequestError(`${at} must be one of ${UNIT_NAMES.join(", ")}, got ${show(value)}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestError("the body is not JSON");
  }
}

/** The fields of an object by their names in camelCase. */
function toFields<K extends string>(
  value: unknown,
  at: string,
  known: readonly K[],
): Partial<Record<K, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(`${at} must be an object, got ${show(value)}`);
  }
  const fields: Partial<Record<K, unknown>> = {};
  for (const [name, field] of Object.entries(value)) {
    const found = known.find((each) => each === name || toSnakeCase(each) === name);
    if (found === undefined) {
      throw new RequestError(
        `${at} has the unknown field ${show(name)}; known: ${known.join(", ")}`,
      );
    }
    fields[found] = field;
  }
  return fields;
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isMissing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function toText(value: unknown, at: string): string {
  if (isMissing(value)) return "";
  if (typeof value === "string") return value;
  throw new RequestError(`${at} must be a string, got ${show(value)}`);
}

function toList(value: unknown, at: string): readonly unknown[] {
  if (isMissing(value)) return [];
  if (Array.isArray(value)) return value;
  throw new RequestError(`${at} must be a list, got ${show(value)}`);
}

function toWhole(value: unknown, at: string, max: number): number {
  if (isMissing(value)) return 0;
  const isText = typeof value === "string" && /^\d{1,20}$/.test(value);
  const whole = isText ? Number(value) : value;
  if (Number.isInteger(whole) && (whole as number) >= 0 && (whole as number) <= max) {
    return whole as number;
  }
  throw new RequestError(`${at} must be a whole number from 0 to ${max}, got ${show(value)}`);
}

/** A response as JSON; what is at its default is left out. */
export function toJson(response: RateLimitResponse): string {
  const { overallCode, statuses, responseHeaders, requestHeaders, dynamicMetadata } = response;
  return JSON.stringify({
    overallCode: CODE_NAMES[overallCode],
    statuses: statuses.map(toStatusJson),
    responseHeadersToAdd: responseHeaders.length === 0 ? undefined : responseHeaders,
    requestHeadersToAdd: requestHeaders,
    dynamicMetadata,
  });
}

function toStatusJson({ code, currentLimit, remaining, resetSeconds }: DescriptorStatus): object {
  return {
    code: CODE_NAMES[code],
    currentLimit: currentLimit === undefined ? undefined : toLimitJson(currentLimit),
    limitRemaining: remaining === 0 ? undefined : remaining,
    durationUntilReset: resetSeconds === undefined ? undefined : `${resetSeconds}s`,
  };
}

function toLimitJson({ requestsPerUnit, unit, name }: CurrentLimit): object {
  return {
    name: name === "" ? undefined : name,
    requestsPerUnit: requestsPerUnit === 0 ? undefined : requestsPerUnit,
    unit: unit === 0 ? undefined : UNIT_NAMES[unit],
  };
}
