// The messages of Envoy's rate limit service as values, whether they came in wire format or as JSON.

/** Answers to a request and to each descriptor, by their numbers on the wire. */
export const CODE = { unknown: 0, ok: 1, overLimit: 2 } as const;

/** A number of {@link CODE}. */
export type Code = (typeof CODE)[keyof typeof CODE];

/** Names of the codes, in the order of their numbers. */
export const CODE_NAMES = ["UNKNOWN", "OK", "OVER_LIMIT"] as const;

/** Names of the units, in the order of their numbers. */
export const UNIT_NAMES = [
  "UNKNOWN",
  "SECOND",
  "MINUTE",
  "HOUR",
  "DAY",
  "MONTH",
  "YEAR",
  "WEEK",
] as const;

const DAY_MS = 86_400_000;

/** How long a unit is, in milliseconds, by its number. A month has 30 days, a year 365; 0 means no unit. */
export const UNIT_MS: readonly number[] = [
  0,
  1_000,
  60_000,
  3_600_000,
  DAY_MS,
  30 * DAY_MS,
  365 * DAY_MS,
  7 * DAY_MS,
];

/** The largest number of 32 bits: what is left where there is no limit. */
export const UINT32_MAX = 4_294_967_295;

/** An entry of a descriptor: a key and its value. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/** A limit that the request brings along. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  /** As in {@link UNIT_NAMES}; may be any number, since it comes off the wire. */
  readonly unit: number;
}

/** What a request asks about. */
export interface Descriptor {
  readonly entries: readonly DescriptorEntry[];
  readonly limit: LimitOverride | undefined;
  /** Hits of this descriptor; undefined: those of the request. */
  readonly hits: number | undefined;
  /** Whether the hits are refunded instead. */
  readonly isNegative: boolean;
}

/** What Envoy asks. */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
  /** The number of hits; 0 means 1. */
  readonly hits: number;
}

/** The limit that a status is about. */
export interface CurrentLimit {
  readonly requestsPerUnit: number;
  readonly unit: number;
  /** Empty: it has none. */
  readonly name: string;
}

/** The answer to one descriptor. */
export interface DescriptorStatus {
  readonly code: Code;
  readonly currentLimit: CurrentLimit | undefined;
  readonly remaining: number;
  /** In whole seconds, rounded up; undefined where no limit applies. */
  readonly resetSeconds: number | undefined;
}

/** A header that Envoy is to add. */
export interface EnvoyHeader {
  readonly key: string;
  readonly value: string;
}

/** A value of JSON. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** An object of JSON. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** The answer to a request. */
export interface RateLimitResponse {
  readonly overallCode: Code;
  /** As many as there were descriptors, in their order. */
  readonly statuses: readonly DescriptorStatus[];
  /** For the client. */
  readonly responseHeaders: readonly EnvoyHeader[];
  /** For the upstream; left out: none. */
  readonly requestHeaders?: readonly EnvoyHeader[];
  /** For the filters of Envoy that come after; left out: none. */
  readonly dynamicMetadata?: JsonObject;
}
