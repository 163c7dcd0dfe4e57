// What `sluice explain` prints: which rules match a request and why, what it is counted by, and the status of each
// counter.

import type {
  ExplainedBlock,
  ExplainedCondition,
  ExplainedLimit,
  ExplainedRule,
  Explanation,
} from "sluice/rules";
import { formatDuration } from "sluice/shapes";
import { type Colours, safe } from "./colours.js";
import { formatBlocked } from "./duration.js";
import { count } from "./rules.js";

const KEY_LENGTH_MAX = 200;

/** The lines of an explanation. */
export function formatExplanation(explanation: Explanation, colours: Colours): string[] {
  const { rules, version } = explanation;
  return [
    sayOutcome(explanation, colours),
    ...sayPriority(explanation),
    ...rules.flatMap((rule) => sayRule(rule, colours)),
    colours.faint(`rules of version ${safe(version)}`),
  ];
}

function sayOutcome(
  { allowed, rule, reason, retryAfterMs, delayMs, rules, block }: Explanation,
  colours: Colours,
): string {
  const blocked = reason === "blocked" ? rules.find((each) => each.rule === rule) : undefined;
  if (blocked !== undefined) {
    const until = formatBlocked(blocked.blockedMs);
    const who = safe(blocked.key ?? "the key", KEY_LENGTH_MAX);
    return `${colours.bad("refused")} by ${safe(rule ?? "?")}: ${who} is blocked ${until}`;
  }
  if (block !== null) return `${colours.bad("refused")}: ${sayBlock(block)}`;
  if (reason === "denied") {
    const by = rule === null ? "the switch of everything" : `the switch of ${safe(rule)}`;
    return `${colours.bad("refused")} by ${by}, which is deny`;
  }
  if (!allowed) {
    const retry = retryAfterMs === null ? "" : `, again in ${formatDuration(retryAfterMs)}`;
    return `${colours.bad("refused")} by ${safe(rule ?? "?")} (${REASONS[reason ?? "limit"]}${retry})`;
  }
  const by = rule === null ? "no rule counts it" : `closest to its limit is ${safe(rule)}`;
  const wait = delayMs > 0 ? `, waits ${formatDuration(delayMs)}` : "";
  return `${colours.good("allowed")}, ${by}${wait}`;
}

function sayPriority({ requestPriority }: Explanation): string[] {
  if (requestPriority === undefined) return [];
  const { priority, rule } = requestPriority;
  return [`priority ${safe(priority)} when load is shed, by ${safe(rule ?? "?")}`];
}

function sayBlock({ subject, reason, untilMs }: ExplainedBlock): string {
  const who = safe(subject ?? "the caller", KEY_LENGTH_MAX);
  const until = untilMs === null ? "" : ` until ${new Date(untilMs).toISOString()}`;
  return `${who} is blocked${until} (${safe(reason, KEY_LENGTH_MAX)})`;
}

const REASONS: Readonly<Record<string, string>> = {
  limit: "over its limit",
  identity: "the request has no value for the rule's key",
  store: "the store does not answer",
};

function sayRule(explained: ExplainedRule, colours: Colours): string[] {
  const place =
    explained.place === null ? "" : colours.faint(`  ${safe(explained.place, KEY_LENGTH_MAX)}`);
  const mode = explained.onExceed === "reject" ? "" : ` (${explained.onExceed})`;
  return [
    "",
    `${colours.strong(safe(explained.rule))}${mode}${place}`,
    ...(explained.isMatch ? [] : ["  does not match"]),
    ...(explained.switch === "deny" ? [colours.bad("  switched to deny")] : []),
    ...explained.conditions.map((condition) => sayCondition(condition, colours)),
    ...sayKey(explained),
    ...(explained.blockedMs === 0
      ? []
      : [colours.bad(`  blocked ${formatBlocked(explained.blockedMs)}`)]),
    ...sayException(explained),
    ...explained.limits.map((limit) => formatLimit(limit, explained.from, colours)),
    ...sayEscalation(explained),
    ...sayRegion(explained),
    ...saySettled(explained),
  ];
}

function sayEscalation({ isMatch, escalate }: ExplainedRule): string[] {
  if (!isMatch || escalate === undefined) return [];
  const { refusals, windowMs, blocksMs } = escalate;
  const lengths = blocksMs.map((ms) => formatDuration(ms)).join(", then ");
  const when = `${count(refusals, "refusal")} in ${formatDuration(windowMs)}`;
  return [`  blocks the key after ${when}: for ${lengths}`];
}

function sayRegion({ isMatch, across, region }: ExplainedRule): string[] {
  // Where each region counts by itself, the one that was asked decides.
  if (!isMatch || region === undefined || across === undefined || across === "each") return [];
  return [`  decided in the region ${safe(region)} (across: ${safe(across)})`];
}

function saySettled({ isMatch, settledBy }: ExplainedRule): string[] {
  // A service of an older version does not say.
  if (!isMatch || settledBy === null || settledBy === undefined) return [];
  return [
    `  the cost is reserved, and settled by ${safe(settledBy, KEY_LENGTH_MAX)} of the response`,
  ];
}

function sayException({ exception }: ExplainedRule): string[] {
  if (exception === null) return [];
  const { by, value, endsAtMs } = exception;
  const until = endsAtMs === null ? "" : ` until ${new Date(endsAtMs).toISOString()}`;
  return [`  exception for ${by} ${safe(value, KEY_LENGTH_MAX)}${until}`];
}

function sayCondition({ on, wanted, isMet }: ExplainedCondition, colours: Colours): string {
  const word = isMet ? colours.good("yes") : colours.bad("no ");
  return `  ${word}  ${on} ${safe(wanted, KEY_LENGTH_MAX)}`;
}

function sayKey(rule: ExplainedRule): string[] {
  const { isMatch, keyType, notApplied } = rule;
  if (!isMatch) return [];
  const counted = sayCounted(rule);
  if (notApplied === null) return counted;
  const isMissing = notApplied === "missing" || notApplied === "refused";
  const lacks = isMissing ? ` (${safe(keyType)}); pass ${toFlags(keyType).join(" and ")}` : "";
  return [...counted, `  not counted: ${WHY_NOT[notApplied]}${lacks}`];
}

function sayCounted({ key, keyType }: ExplainedRule): string[] {
  if (key === null) return [`  counted by ${safe(keyType)}`];
  const shown = safe(key, KEY_LENGTH_MAX);
  if (!isAddressInstead(key, keyType)) return [`  counted by ${safe(keyType)}: ${shown}`];
  const flags = toFlags(keyType).filter((flag) => flag !== "--ip");
  const pass = flags.length === 0 ? "" : `; pass ${flags.join(" and ")}`;
  return [
    `  counted by ip: ${shown}`,
    `  not by ${safe(keyType)}: the request has no value for it${pass}`,
  ];
}

/** Whether a request is counted by its address because it has no value for part of the rule's key (`onMissing: ip`). */
function isAddressInstead(key: string, keyType: string): boolean {
  return keyType !== "ip" && key.startsWith("ip:") && !key.includes("|");
}

/** The options that say what a rule counts by: `--tenant` and `--user` for `tenant|user`. */
function toFlags(keyType: string): string[] {
  const flags = keyType.split("|").map((part) => {
    const [kind, name] = part.split(":", 2);
    return FLAGS[kind]?.(safe(name ?? "name", KEY_LENGTH_MAX)) ?? "--facts";
  });
  return [...new Set(flags)];
}

const FLAGS: Readonly<Record<string, (name: string) => string>> = {
  ip: () => "--ip",
  ipPrefix: () => "--ip",
  asn: () => "--ip",
  country: () => "--ip",
  user: () => "--user",
  tenant: () => "--tenant",
  apiKey: () => "--api-key-hash",
  header: (name) => `--header ${name}=…`,
  attribute: (name) => `--attribute ${name}=…`,
};

const WHY_NOT: Readonly<Record<NonNullable<ExplainedRule["notApplied"]>, string>> = {
  disabled: "the rule is switched off",
  "exempt-ip": "the address is exempt",
  "exempt-key": "the key is exempt",
  missing: "the request has no value for the rule's key",
  refused: "the rule refuses a request that has no value for its key",
  rollout: "the key is not in the rollout",
  unlimited: "the caller has no limit",
};

function formatLimit(limit: ExplainedLimit, from: ExplainedRule["from"], colours: Colours): string {
  const { algorithm, limit: units, remaining, cost, resetMs, wouldPass, retryAfterMs } = limit;
  const whose = from === null || from === "rule" ? "" : ` of its ${from}`;
  const state = `${remaining} of ${units} left, costs ${cost}`;
  const reset = resetMs ? `, all back in ${formatDuration(resetMs)}` : "";
  const retry = retryAfterMs === null ? "" : ` for ${formatDuration(retryAfterMs)}`;
  const outcome = wouldPass ? colours.good("passes") : colours.bad(`refuses${retry}`);
  return `  ${safe(algorithm)}${whose}: ${state}${reset}: ${outcome}`;
}
