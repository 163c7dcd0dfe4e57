// What the demo prints: where things are, what to try, and decisions as they are made. Pure functions; the
// demo writes what they return.

import type { Facts, PolicyDecision, RuleSet } from "sluice/rules";
import { numbersOf } from "../../base/limit-numbers.js";
import { ADMIN_URL } from "../admin-client/admin-options.js";
import { type Colours, safe } from "../text/colours.js";
import { formatDecision } from "../text/decision-text.js";
import { formatLimit } from "../text/limit.js";

/** Where the demo's listeners are. */
export interface DemoPlaces {
  readonly gateway: string;
  readonly admin: string;
  /** The file that the rules were published from; it can be edited and pushed while the demo runs. */
  readonly rules: string;
  /** How the command is called: `sluice`, `npx sluice`. */
  readonly sluice: string;
}

/** The lines that greet: where things are, and commands to try. */
export function formatWelcome(places: DemoPlaces, colours: Colours): string[] {
  const { gateway, admin, rules, sluice } = places;
  return [
    `Dashboard: ${colours.strong(`${admin}/dashboard/`)}`,
    "",
    colours.strong("Sluice is running, in front of a demo upstream."),
    "",
    `  gateway   ${gateway}`,
    `  metrics   ${admin}/metrics`,
    `  live      ${sluice} top${adminFlag(admin)}`,
    `  rules     ${rules}`,
    "",
    "Try in another terminal:",
    "",
    ...toCommands(places).flatMap(({ command, remark }) => [
      `  ${colours.strong(command)}`,
      colours.faint(`      ${remark}`),
    ]),
    "",
    "Decisions as they are made; Ctrl-C ends it.",
  ];
}

/** A command to try. */
export interface DemoCommand {
  readonly command: string;
  readonly remark: string;
}

/**
 * Seven commands: one that passes, one that is limited, one that says how the caller stands, one that explains a
 * decision, two that change something, a rule and a switch, and one that lists the changes.
 */
export function toCommands({ gateway, admin, rules, sluice }: DemoPlaces): readonly DemoCommand[] {
  return [
    { command: `curl -i ${gateway}/`, remark: "passes; see the RateLimit headers" },
    {
      command: `curl -s -o /dev/null -w '%{http_code}\\n' -d '' '${gateway}/login?try=[1-6]'`,
      remark: "six logins: five reach the upstream, the sixth is limited: 429",
    },
    { command: `curl ${gateway}/rate_limit`, remark: "how much you have left; charges no rule" },
    {
      command: `${sluice} explain --method POST --path /login --ip 127.0.0.1${adminFlag(admin)}`,
      remark: "which rules count a login from here, by what, and what is left",
    },
    {
      command: `sed -i.bak 's/limit: 5,/limit: 8,/' '${rules}' && ${sluice} rules push '${rules}' --publish${adminFlag(admin)}`,
      remark: "edit the rules and publish them: three more logins pass, immediately",
    },
    {
      command: `${sluice} switch login deny --reason 'trying it'${adminFlag(admin)}`,
      remark: `the kill switch: every login is refused; "switch login on" ends it`,
    },
    {
      command: `${sluice} audit list${adminFlag(admin)}`,
      remark: "who changed what, when and why",
    },
  ];
}

function adminFlag(admin: string): string {
  return admin === ADMIN_URL ? "" : ` --admin ${admin}`;
}

/** Rules that came into force: `rules changed: login 8/minute (slidingWindowLog); everything …`. */
export function formatChange({ rules }: RuleSet, colours: Colours): string {
  const said = rules.map(({ id, limits }) => {
    const own = limits.map((limit) => formatLimit({ [limit.algorithm]: numbersOf(limit) }));
    return `${safe(id)} ${own.join(" and ")}`;
  });
  return `${colours.strong("rules changed:")} ${safe(said.join("; "), CHANGE_LENGTH_MAX)}`;
}

const CHANGE_LENGTH_MAX = 500;

/** One decision: `allowed  GET /  everything: 19 of 20 left, all back in 200 ms`. */
export function formatLiveDecision(
  decision: PolicyDecision,
  { method, path }: Facts,
  colours: Colours,
): string {
  const request = `${safe(method, 8)} ${safe(path, 40)}`;
  const [word, said] = splitOnce(formatDecision(decision, colours), "  ");
  return `${word}  ${request}  ${colours.faint(said)}`;
}

/** Decisions of one second or so, once there were too many to show each. */
export function formatSummary({ allowed, refused }: DecisionCounts, colours: Colours): string {
  return `${colours.good(`${allowed} allowed`)}, ${colours.bad(`${refused} refused`)}`;
}

/** How many were allowed and refused. */
export interface DecisionCounts {
  readonly allowed: number;
  readonly refused: number;
}

function splitOnce(text: string, at: string): readonly [string, string] {
  const index = text.indexOf(at);
  return [text.slice(0, index), text.slice(index + at.length)];
}
