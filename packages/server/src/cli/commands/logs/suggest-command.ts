// `sluice suggest`: limits that few callers of an access log would ever have exceeded, as a rule file.

import type { Command } from "commander";
import { parseRules, type RuleSet, RulesError } from "sluice/rules";
import { toPrintableJson } from "../../../base/printable.js";
import { type Suggested, suggestFromLogs } from "../../../core/suggest/suggest-limits.js";
import { toRuleFile } from "../../../core/suggest/suggestion-yaml.js";
import { CommandError, EXIT, usageError } from "../../exit.js";
import { type Terminal, writeLine } from "../../terminal/terminal.js";
import { count } from "../../text/rules.js";
import { formatDemand, formatRemarks } from "../../text/suggest.js";
import type { CommandParts } from "../command-parts.js";
import { addLogOptions, type LogFlags, readNamedLogs } from "./log-options.js";

interface SuggestFlags extends LogFlags {
  readonly by: string;
  readonly path?: string;
  readonly refuseAtMost: string;
  readonly json?: boolean;
}

/** Adds the verb. */
export function addSuggestCommand(program: Command, { terminal, finish }: CommandParts): void {
  const command = program
    .command("suggest")
    .description("suggest limits from the requests in access logs")
    .requiredOption(
      "--by <key>",
      "what to count by, as in rules: ip, user, or several separated by commas",
    )
    .option("--refuse-at-most <share>", "the share of callers that the limits may refuse", "0.1%")
    .option("--path <pattern>", "only requests to these paths, such as /api/*");
  addLogOptions(command)
    .option("--json", "print the distribution and the limits as JSON")
    .addHelpText("after", HELP)
    .action(async (logs: string[], flags: SuggestFlags) => {
      await suggest(logs, flags, terminal);
      finish(EXIT.ok);
    });
}

const HELP = `
Prints a rule file to standard output, with a comment that explains each limit. A plot of how many requests callers make
goes to standard error. Exits with 1 if no request in the logs has a value for the key.

Examples:
  $ sluice suggest access.log --by ip > rules.yaml
  $ sluice suggest access.log* --by ip --path /login --refuse-at-most 1%
  $ sluice suggest events.json --by tenant,user --fields tenant=org,user=account`;

async function suggest(
  logs: readonly string[],
  flags: SuggestFlags,
  terminal: Terminal,
): Promise<void> {
  const refuseAtMost = toShare(flags.refuseAtMost);
  const by = flags.by.split(",").map((part) => part.trim());
  const rules = toKeyRule(by, flags.path);
  const suggested = await readNamedLogs(logs, flags, terminal, (read) =>
    suggestFromLogs({ ...read, rules, refuseAtMost }),
  );
  const { suggestion, log, fromMs, toMs } = suggested;
  if (suggestion === undefined) {
    for (const line of formatRemarks(suggested)) terminal.writeError(`${line}\n`);
    throw new CommandError(EXIT.no, sayNothing(by, flags.path, suggested));
  }
  if (flags.json === true) {
    writeLine(terminal, toPrintableJson({ by, path: flags.path ?? null, ...suggested }));
    return;
  }
  for (const line of formatDemand(suggested, terminal.size().columns))
    terminal.writeError(`${line}\n`);
  const from = sayFiles(log.files.map(({ name }) => name));
  const { isWholeSeconds } = log;
  const spanMs = (toMs ?? 0) - (fromMs ?? 0);
  terminal.write(toRuleFile(suggestion, { by, path: flags.path, from, isWholeSeconds, spanMs }));
}

/** The rule that makes the keys: it counts whom it can, and skips requests without a value for its key. */
function toKeyRule(by: readonly string[], path: string | undefined): RuleSet {
  const match = path === undefined ? {} : { match: { path } };
  const rule = { id: "demand", key: by, onMissing: "skip", limit: "1/second", ...match };
  try {
    return parseRules({ version: 1, rules: [rule] });
  } catch (error) {
    throw error instanceof RulesError ? toMisusedOption(error) : error;
  }
}

/** The user did not write the rule, so its fields are named by the options that they come from. */
function toMisusedOption({ problems: [{ message }] }: RulesError): CommandError {
  return usageError(
    message.replace(/^rule "demand": (?:(key(?:\[\d+\])?)|match\.path)/, (_, key?: string) =>
      key === undefined ? "--path" : "--by",
    ),
  );
}

const FILES_SAID_MAX = 3;

function sayFiles(names: readonly string[]): string {
  const left = names.length - FILES_SAID_MAX;
  const said = names.slice(0, FILES_SAID_MAX).join(", ");
  return left > 0 ? `${said} and ${count(left, "more log")}` : said;
}

function sayNothing(
  by: readonly string[],
  path: string | undefined,
  { why, log, uncounted }: Suggested,
): string {
  const key = by.join(" and ");
  if (uncounted === 0)
    return log.lines === 0 ? "the logs have no requests" : "no line of the logs could be read";
  if (why !== undefined) return `nothing can be counted by ${key}: ${why}`;
  const [to, reason] = path === undefined ? ["", ""] : [` to ${path}`, "are to other paths or "];
  return `no request${to} has a value for ${key}: ${count(uncounted, "request")} ${reason}have none`;
}

/** `0.1%`, or `0.001`. */
function toShare(text: string): number {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text);
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
  if (share >= 0 && share < 1) return share;
  throw usageError(
    `--refuse-at-most must be a share such as 0.1% or 0.001, got ${JSON.stringify(text)}`,
  );
}
