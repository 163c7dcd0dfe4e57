// `sluice rules`: `validate` and `diff`, which look at rule files, and the verbs that ask a running service
// (switch-commands.ts) or its control plane (control/rule-set-commands.ts).

import type { Command } from "commander";
import { diffRules, parseRules, type RuleSet, RulesError } from "sluice/rules";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { CommandError, EXIT, type ExitCode, usageError } from "../exit.js";
import { nameOf, readText } from "../files.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { coloursFor } from "../text/colours.js";
import { formatDiff, formatProblems, formatRules, isSame } from "../text/rules.js";
import type { CommandParts } from "./command-parts.js";
import { addRuleSetCommands, findPublished } from "./control/rule-set-commands.js";
import { addSwitchCommands } from "./switch-commands.js";

/** Adds `rules` with its verbs. */
export function addRulesCommands(program: Command, { terminal, finish }: CommandParts): void {
  const rules = program
    .command("rules")
    .description("check rule files, publish them, and switch rules on and off");
  rules
    .command("validate")
    .description("check rule files, and print every problem with its line")
    .argument("<files...>", "rule files; - is the standard input")
    .option("--json", "print JSON, one line for each file")
    .addHelpText("after", VALIDATE_HELP)
    .action(async (files: string[], { json }: Json) => {
      finish(await validate(files, json === true, terminal));
    });
  const diffing = rules
    .command("diff")
    .description("show what a change of rules does, and what happens to the counters")
    .argument("<files...>", "the old file and the new one; one alone is compared with the service");
  addAdminOptions(diffing)
    .addHelpText("after", DIFF_HELP)
    .action(async (files: string[], flags: AdminFlags) => {
      finish(await diff(files, flags, terminal));
    });
  addSwitchCommands(rules, { terminal, finish });
  addRuleSetCommands(rules, { terminal, finish });
}

interface Json {
  readonly json?: boolean;
}

const VALIDATE_HELP = `
Exits with 0 if all are fine, 1 if one is not, 2 if one can't be read.

Examples:
  $ sluice rules validate rules.yaml
  $ sluice rules validate --json rules/*.yaml`;

const DIFF_HELP = `
Exits as diff(1) does: 0 if both say the same, 1 if not, 2 if one can't be read or used.

With one file, it is compared with the rules that are published in the control plane.

Examples:
  $ sluice rules diff rules.yaml
  $ sluice rules diff rules.yaml rules-new.yaml
  $ git show HEAD:rules.yaml | sluice rules diff - rules.yaml`;

async function validate(
  files: readonly string[],
  isJson: boolean,
  terminal: Terminal,
): Promise<ExitCode> {
  let worst: ExitCode = EXIT.ok;
  for (const path of files) {
    const file = nameOf(path);
    const rules = await parse(path, terminal);
    if (rules instanceof RulesError) worst = EXIT.no;
    if (isJson) writeLine(terminal, JSON.stringify(toJson(file, rules)));
    else if (rules instanceof RulesError) printProblems(file, rules, terminal);
    else writeLine(terminal, formatRules(file, rules));
  }
  return worst;
}

function toJson(file: string, rules: RuleSet | RulesError): object {
  if (rules instanceof RulesError) return { file, valid: false, problems: rules.problems };
  const ids = rules.rules.map(({ id }) => id);
  return { file, valid: true, version: rules.version, rules: ids };
}

async function diff(
  files: readonly string[],
  flags: AdminFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  if (files.length > 2) throw usageError(`name one file or two, got ${files.length}`);
  const [first, second] = files;
  const before =
    second === undefined
      ? await readPublished(flags, terminal)
      : await parseOrFail(first, terminal);
  const after = await parseOrFail(second ?? first, terminal);
  const difference = diffRules(before, after);
  const lines = flags.json
    ? [JSON.stringify(difference)]
    : formatDiff(difference, coloursFor(terminal));
  for (const line of lines) writeLine(terminal, line);
  return isSame(difference) ? EXIT.ok : EXIT.no;
}

/** The published rules; an empty set if nothing is published. */
async function readPublished(flags: AdminFlags, terminal: Terminal): Promise<RuleSet> {
  const published = await findPublished(toClient(flags, terminal));
  return parseRules(published?.text ?? "version: 1\nrules: []");
}

async function parseOrFail(path: string, terminal: Terminal): Promise<RuleSet> {
  const rules = await parse(path, terminal);
  if (!(rules instanceof RulesError)) return rules;
  printProblems(nameOf(path), rules, terminal);
  throw new CommandError(EXIT.usage, `${nameOf(path)} can't be compared`);
}

/** Rules, or what is wrong with them. */
async function parse(path: string, terminal: Terminal): Promise<RuleSet | RulesError> {
  const text = await readText(path, terminal);
  try {
    return parseRules(text, { file: nameOf(path) });
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    if (CONFIGURATION.test(text)) terminal.writeError(`${sayConfiguration(nameOf(path))}\n`);
    return error;
  }
}

/** What a configuration has at its left edge, and rules never do. */
const CONFIGURATION = /^(?:server|gateway|decision|envoy|admin|upstreams|routes):/m;

function sayConfiguration(file: string): string {
  return `${file} looks like a configuration, which has rules inside: sluice serve --check -c ${file}`;
}

function printProblems(file: string, { problems }: RulesError, terminal: Terminal): void {
  for (const line of formatProblems(file, problems)) terminal.writeError(`${line}\n`);
}
