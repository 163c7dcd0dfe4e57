// `sluice replay`: what rules would have done to the requests of access logs, compared with other rules.

import { appendFile, unlink, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { parseRules } from "sluice/rules";
import { toPrintableJson } from "../../../base/printable.js";
import { toHtmlPage } from "../../../core/log-replay/html/report-page.js";
import { replayLogs } from "../../../core/log-replay/log-replay.js";
import type { NamedRules } from "../../../core/log-replay/log-replay-input.js";
import type { ReplayReport } from "../../../core/log-replay/replay-report.js";
import { createHashKey } from "../../../telemetry/log/key-hash.js";
import { newSecret } from "../../../telemetry/random.js";
import { CommandError, EXIT, usageError } from "../../exit.js";
import { nameOf, readText } from "../../files.js";
import { adviseOnConfiguration } from "../../service-configuration.js";
import { type Terminal, writeLine } from "../../terminal/terminal.js";
import { formatReplay } from "../../text/replay.js";
import type { CommandParts } from "../command-parts.js";
import {
  addLogOptions,
  failOnRules,
  type LogFlags,
  mustNameInputOnce,
  readNamedLogs,
} from "./log-options.js";

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
export function addReplayCommand(program: Command, { terminal, finish }: CommandParts): void {
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
      "how many keys to keep in memory (default: 1,000,000, as in the service)",
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
Exits with 1 if the rules are invalid or no line can be read, 2 if a file can't be read.

Examples:
  $ sluice replay access.log --rules rules.yaml
  $ sluice replay access.log* --rules new.yaml --against rules.yaml --html report.html
  $ zcat access.log.2.gz | sluice replay - --rules rules.yaml --trusted-proxies private --json`;

async function replay(
  logs: readonly string[],
  flags: ReplayFlags,
  terminal: Terminal,
): Promise<void> {
  mustNameInputOnce([...logs, flags.rules, flags.against]);
  const keysMax = toKeysMax(flags.keysMax);
  const rules = await readRules(flags.rules, terminal);
  const against =
    flags.against === undefined ? undefined : await readRules(flags.against, terminal);
  const hashKey = flags.hash === true ? createHashKey(newSecret()) : undefined;
  const report = await readNamedLogs(logs, flags, terminal, async (read) => {
    if (flags.html !== undefined)
      await mustBeWritable(flags.html, [...logs, flags.rules, flags.against]);
    return replayLogs({ ...read, keysMax, rules, against, hashKey }).catch((error: unknown) =>
      failOnRules(rules.file, error, terminal),
    );
  });
  await print(report, flags, terminal);
  const { requests, log } = report;
  const isDamaged = log.files.some(({ problem }) => problem !== null);
  if (requests.total === 0 && (log.lines > 0 || isDamaged))
    throw new CommandError(EXIT.no, "no line of the logs could be read");
}

async function print(report: ReplayReport, flags: ReplayFlags, terminal: Terminal): Promise<void> {
  if (flags.json === true) writeLine(terminal, toPrintableJson(report));
  else for (const line of formatReplay(report)) writeLine(terminal, line);
  const { html } = flags;
  if (html === undefined) return;
  await writing(html, () => writeFile(html, toHtmlPage(report)));
  terminal.writeError(`wrote ${html}\n`);
}

/** Fails before logs are read, which may take long, and not after. What is read is never overwritten. */
async function mustBeWritable(path: string, read: readonly (string | undefined)[]): Promise<void> {
  if (read.some((each) => each !== undefined && resolve(each) === resolve(path)))
    throw usageError(`--html ${path} would overwrite a file that is read`);
  await writing(path, () => tryToWrite(path));
}

/** Leaves no empty page behind, since the replay may yet fail or be interrupted. */
async function tryToWrite(path: string): Promise<void> {
  try {
    await writeFile(path, "", { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return appendFile(path, "");
  }
  await unlink(path);
}

/** Does something to a file that is written. @throws CommandError that says why it can't be written. */
async function writing(path: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
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
    const advice = adviseOnConfiguration(file, text);
    if (advice !== undefined) throw new CommandError(EXIT.no, advice);
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
