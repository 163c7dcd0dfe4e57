// What stays of a charge once its request has ended: what the response says that it cost, or what was reserved.

import { addUp } from "../../json-sum.js";
import type { ResponseCondition, SettleBy } from "../../rule.js";
import type { RuleCharge } from "../charges/request-charges.js";
import { toWholeUnits } from "../cost.js";
import type { BodyReading, RequestEnd, UnreadableBody } from "./request-end.js";

/** Why a charge stays as it was reserved although its rule has `settle`. */
export type EstimateReason =
  | UnreadableBody
  /** The response says nothing usable of the cost. */
  | "missing"
  /** The response was cut short, by its client or by its server. */
  | "cut-short"
  /** There was no response whose body could be read. */
  | "no-response";

/** What stays of a charge. */
export interface SettledCost {
  readonly units: number;
  /** Why it is what was reserved; undefined if the real cost is known, or nothing is charged. */
  readonly reason: EstimateReason | undefined;
}

/** What a rule settles by, as it is written: `bytes`, `header x-cost`, `json a.b | c, d`. */
export function describeSettle(settle: SettleBy): string {
  if (settle.kind === "header") return `header ${settle.name}`;
  if (settle.kind !== "json") return settle.kind;
  const terms = settle.sum.map((term) => term.map((path) => path.join(".")).join(" | "));
  return `json ${terms.join(", ")}`;
}

/** How many units of a charge stay, now that the request has ended. */
export function toKept(charge: RuleCharge, end: RequestEnd): number {
  const { when, settle } = charge.rule.definition;
  if (charge.ruleLimit.kind.isPermit) return 0;
  // Without a response a guess stays counted: hanging up must not be a way around the limit.
  if (when !== undefined && end.status !== undefined && !isCounted(when, end.status)) return 0;
  if (settle?.kind === "json") return toReadCost(settle, charge.cost, end.body).units;
  const said = toSaid(charge, end);
  // What is not a number of units says nothing of the cost: what was reserved stays.
  return isUnits(said) ? said : charge.cost;
}

/** What stays of a charge, and why if that is not its real cost. For rules with `settle`. */
export function toSettledCost(charge: RuleCharge, end: RequestEnd): SettledCost {
  const { when, settle } = charge.rule.definition;
  const units = toKept(charge, end);
  if (when !== undefined && end.status !== undefined && !isCounted(when, end.status)) {
    return { units, reason: undefined };
  }
  if (settle?.kind === "json") return toReadCost(settle, charge.cost, end.body);
  if (isUnits(toSaid(charge, end))) return { units, reason: undefined };
  return { units, reason: end.status === undefined ? "no-response" : "missing" };
}

/**
 * Whether a request that was sent again says what it cost. If not, the earlier request with its id may: one that the backend
 * refuses because it works on the earlier one, or that is cut short, must not decide what the earlier one costs.
 */
export function isKnownCost(charge: RuleCharge, end: RequestEnd): boolean {
  const { units, reason } = toSettledCost(charge, end);
  if (units === 0) return false;
  return charge.rule.definition.settle === undefined
    ? end.status !== undefined
    : reason === undefined;
}

/** What a body says of the cost. */
function toReadCost(
  { sum, onAbort }: SettleBy & { readonly kind: "json" },
  reserved: number,
  body: BodyReading | undefined,
): SettledCost {
  if (body === undefined) return { units: reserved, reason: "no-response" };
  if (body.problem !== undefined) return { units: reserved, reason: body.problem };
  const seen = addUp(sum, (path) => body.numberAt(path));
  if (!body.isComplete) return toCutCost(onAbort, reserved, seen);
  return isUnits(seen)
    ? { units: seen, reason: undefined }
    : { units: reserved, reason: "missing" };
}

/** Hanging up after the cost was seen must not make it less, and what costs nothing so far is not known to be free. */
function toCutCost(onAbort: "estimated" | "seen", reserved: number, seen: unknown): SettledCost {
  const isKnown = isUnits(seen) && (onAbort === "seen" || seen > reserved);
  return isKnown ? { units: seen, reason: undefined } : { units: reserved, reason: "cut-short" };
}

function isUnits(said: unknown): said is number {
  return Number.isSafeInteger(said) && (said as number) >= 0;
}

/** What the end of a request says of the cost, if anything. */
function toSaid(charge: RuleCharge, end: RequestEnd): unknown {
  const { settle } = charge.rule.definition;
  switch (settle?.kind) {
    case "code":
      return end.cost;
    case "bytes":
      return end.bytes;
    case "header":
      return toWholeUnits(headerOf(end, settle.name));
    default:
      return charge.isReserved ? end.cost : undefined;
  }
}

function headerOf({ header }: RequestEnd, name: string): unknown {
  try {
    return header?.(name);
  } catch {
    // Of one rule, and no reason to leave everything else that is held unsettled.
    return undefined;
  }
}

function isCounted(when: ResponseCondition, status: number): boolean {
  const isListed =
    when.statuses.includes(status) || when.statuses.includes(Math.floor(status / 100));
  return isListed === when.isCounted;
}
