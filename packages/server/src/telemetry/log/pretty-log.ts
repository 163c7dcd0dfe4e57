// Log lines for people: the logger's JSON in a readable form, for a terminal. Elsewhere the log stays JSON.
//
//     14:02:11  info   reloaded  what=rules

import { toPrintable } from "../../base/printable.js";

/** Where log lines go. */
export interface LogDestination {
  write(line: string): void;
}

const LEVELS: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};
const WARN = 40;
const ERROR = 50;
/** Fields that are shown in another way, or are the same in every line. */
const UNSHOWN: ReadonlySet<string> = new Set(["level", "time", "region", "msg", "err", "problems"]);

/** A destination that writes lines for people. */
export function prettyLog(
  destination: LogDestination,
  { hasColour }: { readonly hasColour: boolean },
): LogDestination {
  return { write: (line) => destination.write(`${toPretty(line, hasColour)}\n`) };
}

/** A line of JSON for people; what is not JSON of the logger stays as it is. */
export function toPretty(line: string, hasColour = false): string {
  const fields = parse(line);
  if (fields === undefined) return line.trimEnd();
  const { level = 0, time = 0, msg = "", err, problems = [] } = fields;
  const more = Object.entries(fields).filter(
    ([name, value]) => !UNSHOWN.has(name) && value !== null,
  );
  const below = [...problems, ...sayError(err, level)];
  return [
    [toTime(time), toLevel(level, hasColour), toPrintable(msg), ...more.map(toPair)].join("  "),
    ...below.map((one) => `          ${toPrintable(one)}`),
  ].join("\n");
}

interface LogFields {
  readonly level?: number;
  readonly time?: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string } | string | null;
  readonly problems?: readonly string[];
}

function parse(line: string): LogFields | undefined {
  try {
    return JSON.parse(line) as LogFields;
  } catch {
    return undefined;
  }
}

/** In local time: `14:02:11`. */
function toTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

function toLevel(level: number, hasColour: boolean): string {
  const word = (LEVELS[level] ?? String(level)).padEnd(5);
  if (!hasColour || level < WARN) return word;
  return `\x1b[${level < ERROR ? 33 : 31}m${word}\x1b[0m`;
}

function toPair([name, value]: readonly [string, unknown]): string {
  return toPrintable(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
}

/** A stack trace only for errors of the service itself; for warnings the message is enough. */
function sayError(err: LogFields["err"], level: number): readonly string[] {
  if (err === undefined || err === null) return [];
  // Anything can be thrown.
  if (typeof err !== "object") return String(err).split("\n");
  const { message = "", stack = message } = err;
  return (level >= ERROR ? stack : message).split("\n");
}
