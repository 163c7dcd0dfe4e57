// Options of the commands that read access logs: which logs, in which format, behind which proxies.

import type { Command } from "commander";
import { RulesError, toCidrList } from "sluice/rules";
import type { FormatChoice } from "../../../access-logs/formats/detect.js";
import { parseFieldMap } from "../../../access-logs/formats/field-map.js";
import { FORMAT_NAMES, type FormatName } from "../../../access-logs/log-format.js";
import {
  type LogSource,
  openSources,
  UnknownFormatError,
} from "../../../access-logs/reading/log-source.js";
import type { LogsToRead } from "../../../access-logs/reading/read-logs.js";
import { isOfFileSystem } from "../../../access-logs/reading/stored-log.js";
import { CommandError, EXIT, usageError } from "../../exit.js";
import { nameOf, toMisuse } from "../../files.js";
import { ProgressBar } from "../../terminal/progress-bar.js";
import type { Terminal } from "../../terminal/terminal.js";
import { safe } from "../../text/colours.js";
import { parseDuration } from "../../text/duration.js";
import { formatProblems } from "../../text/rules.js";

/** What the options say. */
export interface LogFlags {
  readonly format?: string;
  readonly fields?: string;
  readonly trustedProxies?: string;
  readonly reorder?: string;
}

/** The longest window in which lines are put in order. */
const REORDER_MS_MAX = 3_600_000;
const MB = 1_000_000;

/** Adds the logs and the options about them to a verb. */
export function addLogOptions(command: Command): Command {
  return command
    .argument(
      "<logs...>",
      "access logs, plain or compressed with gzip or zstd; - is standard input",
    )
    .option("--format <format>", `${FORMAT_NAMES.join(", ")} (default: detected)`)
    .option("--fields <map>", "fields of JSON lines: ip=client_ip,time=ts,header.x-plan=plan")
    .option(
      "--trusted-proxies <ranges>",
      "proxies whose X-Forwarded-For counts: addresses, ranges, private; separated by commas",
    )
    .option(
      "--reorder <duration>",
      "how late lines may come, such as 30s; 0 keeps their order (default: 10s)",
    );
}

/** Reads the logs that are named, as the options say, with a progress bar. @throws CommandError */
export async function readNamedLogs<T>(
  paths: readonly string[],
  flags: LogFlags,
  terminal: Terminal,
  read: (logs: LogsToRead) => Promise<T>,
): Promise<T> {
  const trustedProxies = toProxies(flags.trustedProxies);
  const reorderMs = toReorderMs(flags.reorder);
  const sources = await openLogs(paths, flags, terminal);
  const bar = barOver(sources, terminal);
  const onRead = (bytes: number) => bar.add(bytes);
  try {
    const result = await read({ sources, trustedProxies, reorderMs, onRead });
    bar.end();
    return result;
  } catch (error) {
    bar.leave();
    throw isOfFileSystem(error)
      ? toMisuse(pathOf(error) ?? paths.map(nameOf).join(", "), error)
      : error;
  }
}

function pathOf(error: unknown): string | undefined {
  const { path } = error as { path?: unknown };
  return typeof path === "string" ? path : undefined;
}

/** The standard input can be read only once. @throws CommandError if more than one of these is it. */
export function mustNameInputOnce(paths: readonly (string | undefined)[]): void {
  if (paths.filter((path) => path === "-").length > 1)
    throw usageError("- (standard input) can be named only once");
}

/**
 * Opens the logs that are named, the oldest first; `-` is the standard input.
 *
 * @throws CommandError that says which can't be read, or whose format is not known.
 */
async function openLogs(
  paths: readonly string[],
  flags: LogFlags,
  terminal: Terminal,
): Promise<readonly LogSource[]> {
  mustNameInputOnce(paths);
  const choice = toFormatChoice(flags);
  const sources: LogSource[] = [];
  try {
    const inputs = paths.map((path) =>
      path === "-" ? { name: nameOf(path), stream: terminal.inputChunks() } : path,
    );
    sources.push(...(await openSources(inputs, choice)));
  } catch (error) {
    if (error instanceof UnknownFormatError) throw usageError(error.message);
    throw toMisuse(pathOf(error) ?? paths[0], error);
  }
  for (const { name, format } of sources) {
    const how = flags.format === undefined && flags.fields === undefined ? " (detected)" : "";
    terminal.writeError(`${safe(name, 200)}: ${format.title}${how}\n`);
  }
  return sources;
}

/** A progress bar over the bytes of all logs; only how much was read if the size of one is not known. */
function barOver(sources: readonly LogSource[], terminal: Terminal): ProgressBar {
  const sizes = sources.map(({ sizeBytes }) => sizeBytes);
  const total = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? Number.NaN), 0);
  return new ProgressBar(terminal, {
    total: Number.isNaN(total) ? undefined : total,
    say: sayBytes,
  });
}

/** Prints what is wrong with rules, and ends the command with 1. Other errors are thrown as they are. */
export function failOnRules(file: string, error: unknown, terminal: Terminal): never {
  if (error instanceof RulesError) {
    for (const line of formatProblems(file, error.problems)) terminal.writeError(`${line}\n`);
    throw new CommandError(EXIT.no, `${file} can't be used`);
  }
  if (error instanceof Error && error.name === "SluiceError")
    throw new CommandError(EXIT.no, `${file} can't be used: ${error.message}`);
  throw error;
}

function sayBytes(done: number, total: number | undefined): string {
  const inMb = (bytes: number) => (bytes / MB).toFixed((total ?? 0) < 10 * MB ? 1 : 0);
  return total === undefined ? `${inMb(done)} MB read` : `${inMb(done)} of ${inMb(total)} MB`;
}

function toFormatChoice({ format, fields }: LogFlags): FormatChoice {
  if (format !== undefined && !(FORMAT_NAMES as readonly string[]).includes(format))
    throw usageError(
      `--format must be one of ${FORMAT_NAMES.join(", ")}, got ${JSON.stringify(format)}`,
    );
  if (fields === undefined) return { format: format as FormatName | undefined };
  if (format !== undefined && format !== "json")
    throw usageError(`--fields is for JSON lines, not for --format ${format}`);
  const map = parseFieldMap(fields);
  if (typeof map === "string") throw usageError(`--fields: ${map}`);
  return { format: "json", fields: map };
}

function toProxies(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const ranges = text.split(",").map((range) => range.trim());
  try {
    toCidrList(ranges);
    return ranges;
  } catch (error) {
    throw usageError(`--trusted-proxies: ${(error as Error).message}`);
  }
}

function toReorderMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = text === "0" ? 0 : (parseDuration(text) ?? Number.NaN);
  if (ms >= 0 && ms <= REORDER_MS_MAX) return ms;
  throw usageError(
    `--reorder must be a duration up to 1h, such as 30s, or 0, got ${JSON.stringify(text)}`,
  );
}
