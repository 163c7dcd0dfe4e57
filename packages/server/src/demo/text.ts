// What the demo prints: where things are, what to try, and decisions as they are made. Pure functions; the
// demo writes what they return.

import type { Facts, PolicyDecision } from "sluice/rules";
import { ADMIN_URL } from "../cli/admin-options.js";
import { sayDecision } from "../cli/text/decision.js";
import { type Ink, safe } from "../cli/text/ink.js";

/** Where the demo's doors are. */
export interface DemoPlaces {
  readonly gateway: string;
  readonly admin: string;
  /** How the command is called: `sluice`, `npx sluice`. */
  readonly sluice: string;
}

/** The lines that greet: where things are, and three commands to try. */
export function sayWelcome({ gateway, admin, sluice }: DemoPlaces, ink: Ink): string[] {
  return [
    ink.strong("Sluice is running, in front of a demo upstream."),
    "",
    `  gateway   ${gateway}`,
    `  metrics   ${admin}/metrics`,
    `  live      ${sluice} top${admin === ADMIN_URL ? "" : ` --admin ${admin}`}`,
    "",
    "Try in another terminal:",
    "",
    ...toCommands({ gateway }).flatMap(({ command, remark }) => [
      `  ${ink.strong(command)}`,
      ink.faint(`      ${remark}`),
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

/** Three commands: one that passes, one that is limited, and one that tells how the caller stands. */
export function toCommands({ gateway }: Pick<DemoPlaces, "gateway">): readonly DemoCommand[] {
  return [
    { command: `curl -i ${gateway}/`, remark: "passes; see the RateLimit fields" },
    {
      command: `curl -s -o /dev/null -w '%{http_code}\\n' -d '' '${gateway}/login?try=[1-6]'`,
      remark: "six logins: five reach the upstream, the sixth is limited: 429",
    },
    { command: `curl ${gateway}/rate_limit`, remark: "how you stand; costs nothing" },
  ];
}

/** One decision: `allowed  GET /  everything: 19 of 20 left, all back in 200 ms`. */
export function sayLive(decision: PolicyDecision, { method, path }: Facts, ink: Ink): string {
  const request = `${safe(method, 8)} ${safe(path, 40)}`;
  const [word, said] = splitOnce(sayDecision(decision, ink), "  ");
  return `${word}  ${request}  ${ink.faint(said)}`;
}

/** Decisions of one second or so, once there were too many to show each. */
export function saySummary({ allowed, refused }: DecisionCounts, ink: Ink): string {
  return `${ink.good(`${allowed} allowed`)}, ${ink.bad(`${refused} refused`)}`;
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
