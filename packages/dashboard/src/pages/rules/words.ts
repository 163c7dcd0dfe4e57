// Rules in words: what they count by, how much they allow, which requests they are about and how they stand.

import type { ReplyOf } from "sluice-server/api";
import { algorithmName } from "../../ui/formats/algorithm-name.js";
import { formatCount, formatDuration } from "../../ui/formats/format.js";

/** A rule in force, as the service lists it. */
export type RuleView = ReplyOf<"rules">["rules"][number];

/** How a rule stands, in a word or two and with the colour of its badge. */
export interface RuleState {
  readonly kind: "good" | "bad" | "warn" | "info" | "plain";
  readonly name: string;
}

interface Numbers {
  readonly limit?: number;
  readonly windowMs?: number;
  readonly permitMs?: number;
  readonly period?: unknown;
  readonly capacity?: number;
  readonly refill?: { readonly amount: number; readonly everyMs: number };
  readonly ratePerSecond?: number;
  readonly queueSize?: number;
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
];

const DIMENSIONS: Readonly<Record<string, string>> = {
  ip: "address",
  apiKey: "API key",
  ipPrefix: "network",
  asn: "autonomous system",
};

/** `POST /login`, `GET /search, /find`, `all requests`. */
export function sayMatch({ paths, methods, hosts = [] }: RuleView["match"]): string {
  const parts = [methods.join(", "), hosts.join(", "), paths.join(", ")];
  const said = parts.filter((part) => part !== "").join(" ");
  return said === "" ? "all requests" : said;
}

/** `by address`, `by tenant and user`, `all together`. */
export function sayKey(keyType: string): string {
  if (keyType === "global") return "all together";
  const parts = keyType.split("|").map((part) => DIMENSIONS[part] ?? part);
  return `by ${parts.join(" and ")}`;
}

/** `5 per minute`, `20 in a burst, then 5 per second`, `no limit`. */
export function sayLimits(limits: readonly object[]): string {
  return limits.length === 0 ? "no limit" : limits.map(sayLimit).join(" and ");
}

/** `sliding window counter`. */
export function sayAlgorithms(limits: readonly object[]): string {
  const names = limits.flatMap((limit) => Object.keys(limit));
  return [...new Set(names)].map(algorithmName).join(", ");
}

/** `5 per minute, by address`. */
export function sayRule({ limits, keyType }: Pick<RuleView, "limits" | "keyType">): string {
  return `${sayLimits(limits)}, ${sayKey(keyType)}`;
}

/** `are blocked after 20 refusals in 5 min: for 10 min, then 24 h each time`. */
export function sayEscalation({
  refusals,
  windowMs,
  blocksMs,
}: NonNullable<RuleView["escalate"]>): string {
  const after = `${formatCount(refusals)} ${refusals === 1 ? "refusal" : "refusals"}`;
  const blocks = blocksMs.map(formatDuration);
  const last =
    blocks.length === 1 ? blocks[0] : `${blocks.slice(0, -1).join(", ")}, then ${blocks.at(-1)}`;
  return `are blocked after ${after} in ${formatDuration(windowMs)}: for ${last} each time`;
}

/** The states of a rule, the most important first. */
export function statesOf(rule: RuleView): readonly RuleState[] {
  const states: RuleState[] = [];
  if (rule.switchedTo === "deny") states.push({ kind: "bad", name: "denies all" });
  else if (rule.switchedTo === "off") states.push({ kind: "warn", name: "switched off" });
  else if (!rule.isOn) states.push({ kind: "plain", name: "disabled" });
  if (rule.onExceed === "shadow") states.push({ kind: "info", name: "shadow" });
  if (rule.onExceed === "delay") states.push({ kind: "plain", name: "delays" });
  if (rule.onExceed === "challenge") states.push({ kind: "plain", name: "challenges" });
  const { rolloutPercent = 100 } = rule;
  if (rolloutPercent < 100) states.push({ kind: "info", name: `${rolloutPercent}% of keys` });
  return states.length === 0 ? [{ kind: "good", name: "on" }] : states;
}

function sayLimit(limit: object): string {
  const [[algorithm, numbers] = ["", {}]] = Object.entries(limit) as [string, Numbers][];
  return sayNumbers(numbers) ?? `${algorithm} ${JSON.stringify(numbers)}`;
}

/** Undefined for an algorithm that is not known here. */
function sayNumbers(numbers: Numbers): string | undefined {
  const { limit = 0, windowMs, permitMs, period, capacity = 0, refill } = numbers;
  if (refill !== undefined) {
    const pace = `${formatCount(refill.amount)} per ${sayPeriod(refill.everyMs)}`;
    return capacity === refill.amount ? pace : `${formatCount(capacity)} in a burst, then ${pace}`;
  }
  if (numbers.ratePerSecond !== undefined)
    return `${numbers.ratePerSecond} per second, ${numbers.queueSize} may wait`;
  if (windowMs !== undefined) return `${formatCount(limit)} per ${sayPeriod(windowMs)}`;
  if (permitMs !== undefined) return `${formatCount(limit)} under way together`;
  return typeof period === "string" ? `${formatCount(limit)} per ${period}` : undefined;
}

function sayPeriod(ms: number): string {
  for (const [unitMs, name] of UNITS) {
    if (ms === unitMs) return name;
    if (ms % unitMs === 0) return `${ms / unitMs} ${name}s`;
  }
  return formatDuration(ms);
}
