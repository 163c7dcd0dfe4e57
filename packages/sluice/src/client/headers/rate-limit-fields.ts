// The RateLimit fields of draft-ietf-httpapi-ratelimit-headers, in the forms that servers send: lists of named policies
// (drafts 8 to 11, and the names that a proposal gives their parameters), one dictionary (draft 7), and three headers
// (draft 6). A field that is malformed is ignored, and so is an item without what it must have.

import { BoundedMap } from "../../base/bounded-map.js";
import type { HeaderSource } from "./header-source.js";
import { HEADER_MS_MAX, parseResetMs, parseWhole } from "./header-times.js";
import type { QuotaReport } from "./quota-report.js";
import { type Item, parseList } from "./structured-list.js";

/** A policy as the server announces it. */
interface Policy {
  /** Undefined in the forms before draft 8. */
  readonly name: string | undefined;
  readonly limit: number;
  readonly windowMs: number | undefined;
  readonly isOfRequests: boolean;
}

/** One limit, as most responses have it: `"hour";r=100;t=36000`. It needs no parser, which is several times slower. */
const ONE_STATE = /^"[\w -]{0,128}";r=\d{1,15}(?:;t=\d{1,15})?$/;

/** What `RateLimit` and `RateLimit-Policy` say. Empty if they are missing or malformed. */
export function readRateLimit(headers: HeaderSource): readonly QuotaReport[] {
  const field = headers.get("ratelimit") ?? "";
  if (field === "") return [];
  const policies = readPolicies(headers);
  if (ONE_STATE.test(field)) return [toOneReport(field, policies)];
  if (/(?:^|,)\s*remaining\s*=/.test(field)) return readDraft7(field, policies);
  const states = parseList(field) ?? [];
  return states.flatMap((state) => toReport(state, policies, states.length));
}

/** The report of a field that {@link ONE_STATE} matches. */
function toOneReport(field: string, policies: readonly Policy[]): QuotaReport {
  const nameEnd = field.indexOf('"', 1);
  const resetStart = field.indexOf(";t=", nameEnd);
  const name = field.slice(1, nameEnd);
  const { limit, windowMs, isOfRequests } = policyOf(name, policies, 1);
  return {
    name,
    limit,
    remaining: Number(field.slice(nameEnd + 4, resetStart === -1 ? undefined : resetStart)),
    resetMs: resetStart === -1 ? undefined : toMs(Number(field.slice(resetStart + 3))),
    windowMs,
    isOfRequests,
  };
}

/**
 * What `RateLimit-Remaining`, `-Limit` and `-Reset` say (draft 6). Empty if they are missing or malformed. The reset is
 * in seconds from now, except that of GitLab, which is in seconds since 1970. Docker Hub sends no reset, but the window
 * behind each number: `100;w=21600`.
 */
export function readRateLimitRemaining(
  headers: HeaderSource,
  wallMs: number,
): readonly QuotaReport[] {
  const [left = "", window] = (headers.get("ratelimit-remaining") ?? "").split(";w=", 2);
  const remaining = parseWhole(left);
  if (remaining === undefined) return [];
  // Older drafts list policies behind the limit: `100, 100;w=60`.
  const limit = parseWhole((headers.get("ratelimit-limit") ?? "").split(/[,;]/, 1)[0] as string);
  const resetMs = parseResetMs(headers.get("ratelimit-reset") ?? "", headers, wallMs);
  const report = toUnnamed(limit, remaining, resetMs, readPolicies(headers));
  const windowMs = toMs(parseWhole(window ?? "")) ?? report.windowMs;
  return [{ ...report, windowMs }];
}

/** `limit=100, remaining=50, reset=30` */
function readDraft7(field: string, policies: readonly Policy[]): readonly QuotaReport[] {
  const numbers = new Map<string, number>();
  for (const pair of field.slice(0, 256).split(",")) {
    const [name = "", value = ""] = pair.split("=", 2);
    const number = parseWhole(value);
    if (number === undefined) return [];
    numbers.set(name.trim(), number);
  }
  const remaining = numbers.get("remaining");
  if (remaining === undefined) return [];
  return [toUnnamed(numbers.get("limit"), remaining, toMs(numbers.get("reset")), policies)];
}

function toUnnamed(
  limit: number | undefined,
  remaining: number,
  resetMs: number | undefined,
  policies: readonly Policy[],
): QuotaReport {
  return {
    name: "",
    limit: limit ?? policies[0]?.limit,
    remaining,
    resetMs,
    windowMs: policies[0]?.windowMs,
    isOfRequests: policies[0]?.isOfRequests ?? true,
  };
}

/** `"hour";r=100;t=36000` */
function toReport(
  { value: name, parameters }: Item,
  policies: readonly Policy[],
  stateCount: number,
): readonly QuotaReport[] {
  const remaining = wholeOf(parameters, "r") ?? wholeOf(parameters, "a");
  if (typeof name !== "string" || remaining === undefined) return [];
  const partitionKey = parameters.get("pk");
  return [
    {
      ...policyOf(name, policies, stateCount),
      name,
      partitionKey: partitionKey instanceof Uint8Array ? partitionKey.join(".") : undefined,
      remaining,
      resetMs: toMs(wholeOf(parameters, "t") ?? wholeOf(parameters, "w")),
    },
  ];
}

/** What the policies say about a limit of this name. */
function policyOf(
  name: string,
  policies: readonly Policy[],
  stateCount: number,
): Pick<QuotaReport, "limit" | "windowMs" | "isOfRequests"> {
  // Cloudflare documents a state and a policy of different names: if there is one of each, they belong together.
  const only = policies.length === 1 && stateCount === 1 ? policies[0] : undefined;
  const policy = policies.find((each) => each.name === name) ?? only;
  const { limit, windowMs, isOfRequests = true } = policy ?? {};
  return { limit, windowMs, isOfRequests };
}

/** `"hour";q=1000;w=3600`, or before draft 8 `1000;w=3600` */
function readPolicies(headers: HeaderSource): readonly Policy[] {
  const field = headers.get("ratelimit-policy") ?? "";
  const known = knownPolicies.get(field);
  if (known !== undefined) return known;
  const policies = parsePolicies(field);
  if (field.length <= KNOWN_LENGTH_MAX) knownPolicies.set(field, policies);
  return policies;
}

/** Policies by their field, since all responses of a route have the same. */
const knownPolicies = new BoundedMap<string, readonly Policy[]>(256);
const KNOWN_LENGTH_MAX = 512;

function parsePolicies(field: string): readonly Policy[] {
  const items = parseList(field) ?? [];
  return items.flatMap(({ value, parameters }) => {
    const limit = typeof value === "number" ? value : wholeOf(parameters, "q");
    if (limit === undefined || !isWhole(limit)) return [];
    const unit = parameters.get("qu") ?? "requests";
    const name = typeof value === "string" ? value : undefined;
    const windowMs = toMs(wholeOf(parameters, "w") || undefined);
    return [{ name, limit, windowMs, isOfRequests: unit === "requests" }];
  });
}

function wholeOf(parameters: Item["parameters"], key: string): number | undefined {
  const value = parameters.get(key);
  return typeof value === "number" && isWhole(value) ? value : undefined;
}

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(HEADER_MS_MAX, seconds * 1_000);
}
