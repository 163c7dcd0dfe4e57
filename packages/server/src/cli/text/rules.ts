// What `sluice rules` prints: a summary of valid rules, problems with their lines, and the differences between two
// files with their effect on the counters.

import type { CounterFate, RuleSet, RulesDiff } from "sluice/rules";
import { formatDuration } from "sluice/shapes";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import { type Colours, safe } from "./colours.js";
import { formatLimit } from "./limit.js";
import { formatTable } from "./table.js";

/** One line that says that rules can be used: `rules.yaml: ok (3 rules, version 5d0f…)`. */
export function formatRules(file: string, { rules, version, isEnabled }: RuleSet): string {
  const off = isEnabled ? "" : ", all switched off";
  return `${file}: ok (${count(rules.length, "rule")}, version ${version}${off})`;
}

/** A problem of a file, or of rules that a service looked at. */
interface PlacedProblem {
  readonly message: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** A line for each problem, as compilers write them: `rules.yaml:14:5: rule "login": …`. */
export function formatProblems(file: string, problems: readonly PlacedProblem[]): string[] {
  return problems.map(({ message, line, column }) => {
    const place = [file, line, column].filter((part) => part !== undefined).join(":");
    return `${place}: ${message}`;
  });
}

/** Whether two sets of rules say the same. */
export function isSame({ fields, added, removed, changed }: RulesDiff): boolean {
  return fields.length + added.length + removed.length + changed.length === 0;
}

/** The difference in lines: `+` is new, `-` is gone, `~` says something else. */
export function formatDiff(diff: RulesDiff, colours: Colours): string[] {
  if (isSame(diff)) return [`the same rules (version ${diff.toVersion})`];
  const whole = diff.fields.length === 0 ? [] : [`~ the file: ${diff.fields.join(", ")}`];
  return [
    ...whole,
    ...diff.removed.map((id) => colours.bad(`- ${id}`)),
    ...diff.added.map((id) => colours.good(`+ ${id}`)),
    ...diff.changed.flatMap(({ id, fields, limits }) => [
      `~ ${id}: ${fields.length === 0 ? "its counters" : fields.join(", ")}`,
      ...limits.map(({ where, fate, why }) => `    ${where}: ${FATES[fate]} (${why})`),
    ]),
    colours.faint(`version ${diff.fromVersion} → ${diff.toVersion}`),
  ];
}

const FATES: Readonly<Record<CounterFate, string>> = {
  kept: "counters stay",
  carried: "what was used carries over",
  empty: "counters start empty",
};

/**
 * A line for each rule in force: its name, whether it is on, which requests it is about, what it counts by and its
 * limits; below it those of each tier.
 */
export function formatRulesInForce({ version, rules }: ReplyOf<"rules">): string[] {
  const rows = rules.flatMap(
    ({
      id,
      keyType,
      match,
      limits,
      tiers,
      onExceed,
      isOn,
      switchedTo,
      rolloutPercent,
      escalate,
    }) => [
      [
        safe(id),
        switchedTo === "deny" ? "deny" : isOn ? safe(onExceed) : "off",
        sayMatch(match),
        safe(keyType),
        sayLimits(limits) + sayEscalation(escalate) + sayRollout(rolloutPercent),
      ],
      ...Object.entries(tiers).map(([tier, own]) => {
        return [`  tier ${safe(tier)}`, "", "", "", own.length === 0 ? "none" : sayLimits(own)];
      }),
    ],
  );
  const head = ["rule", "beyond", "requests", "by", "limits"];
  return [...formatTable([head, ...rows]), `version ${safe(version)}`];
}

type RuleInForce = ReplyOf<"rules">["rules"][number];

/** `POST /login`, or `*` for all requests. */
function sayMatch({ paths, methods }: RuleInForce["match"]): string {
  const said = [methods.join(","), paths.join(",")].filter((part) => part !== "").join(" ");
  return safe(said === "" ? "*" : said, MATCH_LENGTH_MAX);
}

const MATCH_LENGTH_MAX = 120;

/** For a rule that blocks callers that it keeps refusing. */
function sayEscalation(terms: RuleInForce["escalate"]): string {
  if (terms === null || terms === undefined) return "";
  return `, blocks after ${count(terms.refusals, "refusal")} in ${formatDuration(terms.windowMs)}`;
}

/** For a rule that holds for a part of its keys only. */
function sayRollout(percent: number | undefined): string {
  return percent === undefined || percent === 100 ? "" : `, for ${percent} % of keys`;
}

function sayLimits(limits: readonly object[]): string {
  return limits.map(formatLimit).join(" and ");
}

/** `1 rule`, `2 rules`, `20,000 rules`. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount.toLocaleString("en-GB")} ${amount === 1 ? noun : plural}`;
}
