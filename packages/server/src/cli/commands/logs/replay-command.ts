// `sluice replay`: what rules would have done to the requests of access logs, compared with other rules.

import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { parseRules } from "sluice/rules";
import { toHtmlPage } from "../../../core/log-replay/html/report-page.js";
import { replayLogs } from "../../../core/log-replay/log-replay.js";
import type { NamedRules } from "../../../core/log-replay/log-replay-input.js";
import type { ReplayReport } from "../../../core/log-replay/replay-report.js";
import { createHashKey } from "../../../telemetry/log/key-hash.js";
import { newSecret } from "../../../telemetry/random.js";
import { EXIT, type Finish, usageError } from "../../exit.js";
import { nameOf, readText } from "../../files.js";
import { type Terminal, writeLine } from "../../terminal/terminal.js";
import { formatReplay } from "../../text/replay.js";
import { addLogOptions, failOnRules, type LogFlags, readNamedLogs } from "./log-options.js";

interface ReplayFlags extends LogFlags {
  readonly rules: string;
  readonly against?: string;
  readonly hash?: boolean;
  readonly json?: boolean;
  readonly html?: string;
  readonly keysMax?: string;
}

const KEYS_MAX = 100_000_000;

/** Adds the verb. */
export function addReplayCommand(program: Command, terminal: Terminal, finish: Finish): void {
  const command = program
    .command("replay")
    .description("decide the requests of access logs again, under a rule file")
    .requiredOption("--rules <file>", "the rules to try")
    .option("--against <file>", "the rules to compare with, such as those in force");
  addLogOptions(command)
    .option("--hash", "show keys as hashes, and malformed lines without their content")
    .option("--html <file>", "write the report as a page with plots")
    .option("--json", "print the report as JSON, which the dashboard's playground opens")
    .option(
      "--keys-max <count>",
      "how many keys to keep in memory; default 1000000, as in the service",
    )
    .addHelpText("after", HELP)
    .action(async (logs: string[], flags: ReplayFlags) => {
      await replay(logs, flags, terminal);
      finish(EXIT.ok);
    });
}

const HELP = `
Reads nginx combined, Common Log Format, Caddy and Envoy JSON, AWS ALB, and JSON lines. Rotated files are read in the
order of the times in them. Malformed lines are counted, and the first few are shown.
Exits with 1 if the rules are invalid, 2 if a file can't be read.

Examples:
  $ sluice replay access.log --rules rules.yaml
  $ sluice replay access.log* --rules new.yaml --against rules.yaml --html report.html
  $ zcat access.log.2.gz | sluice replay - --rules rules.yaml --trusted-proxies private --json`;

async function replay(
  logs: readonly string[],
  flags: ReplayFlags,
  terminal: Terminal,
): Promise<void> {
  const keysMax = toKeysMax(flags.keysMax);
  const rules = await readRules(flags.rules, terminal);
  const against =
    flags.against === undefined ? undefined : await readRules(flags.against, terminal);
  const hashKey = flags.hash === true ? createHashKey(newSecret()) : undefined;
  const report = await readNamedLogs(logs, flags, terminal, (read) =>
    replayLogs({ ...read, keysMax, rules, against, hashKey }).catch((error: unknown) =>
      failOnRules(rules.file, error, terminal),
    ),
  );
  await print(report, flags, terminal);
}

async function print(report: ReplayReport, flags: ReplayFlags, terminal: Terminal): Promise<void> {
  if (flags.html !== undefined) await writeReport(flags.html, toHtmlPage(report));
  if (flags.json === true) writeLine(terminal, JSON.stringify(report));
  else for (const line of formatReplay(report)) writeLine(terminal, line);
  if (flags.html !== undefined) terminal.writeError(`wrote ${flags.html}\n`);
}

async function writeReport(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page);
  } catch (error) {
    throw usageError(`${path} can't be written: ${(error as Error).message}`);
  }
}

async function readRules(path: string, terminal: Terminal): Promise<NamedRules> {
  const text = await readText(path, terminal);
  const file = nameOf(path);
  try {
    return { file, rules: parseRules(text, { file }) };
  } catch (error) {
    return failOnRules(file, error, terminal);
  }
}

function toKeysMax(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= KEYS_MAX) return count;
  throw usageError(
    `--keys-max must be a whole number from 1 to ${KEYS_MAX}, got ${JSON.stringify(text)}`,
  );
}
