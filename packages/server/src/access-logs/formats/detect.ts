// Which format a log has: that which reads most of its first lines.

import { LogEntry, NO_NEEDS } from "../log-entry.js";
import type { FormatName, LogFormat } from "../log-format.js";
import { alb } from "./alb.js";
import { afterMark } from "./bytes.js";
import { combined, common, restOf } from "./common.js";
import { type FieldMap, USUAL_FIELDS } from "./field-map.js";
import { caddy, envoy, jsonFormat, NOT_JSON } from "./json.js";

/** Readable lines that are enough. */
const READABLE_MAX = 100;
/** Lines that are looked at: a scanner may fill the start of a log with requests that no server understands. */
const LINES_MAX = 2_000;
const NEWLINE = 0x0a;

/** What the user says of the format. */
export interface FormatChoice {
  /** Default: it is detected. */
  readonly format?: FormatName | undefined;
  /** Of a format that is JSON. */
  readonly fields?: FieldMap | undefined;
}

/** The format of that name. */
export function formatOf(name: FormatName, fields: FieldMap = USUAL_FIELDS): LogFormat {
  switch (name) {
    case "combined":
      return combined;
    case "common":
      return common;
    case "caddy":
      return caddy;
    case "envoy":
      return envoy;
    case "alb":
      return alb;
    case "json":
      return jsonFormat("json", "JSON lines", fields);
  }
}

/** The format of a log that begins so; undefined if no format reads any of its lines. */
export function detectFormat(head: Buffer, choice: FormatChoice = {}): LogFormat | undefined {
  const { format, fields } = choice;
  if (format !== undefined) return formatOf(format, fields);
  if (fields !== undefined) return formatOf("json", fields);
  let best: LogFormat | undefined;
  let most = 0;
  for (const candidate of [common, alb, caddy, envoy, formatOf("json")]) {
    const count = countReadable(head, candidate);
    if (count > most) {
      best = candidate;
      most = count;
    }
  }
  return best === common ? toCommonOrCombined(head) : best;
}

/** What to do about a log that begins so, of which no format reads a line. */
export function adviseOnFormat(head: Buffer): string {
  const reader = formatOf("json").createReader(NO_NEEDS);
  const entry = new LogEntry();
  for (const [from, to] of linesOf(head)) {
    if (reader.read(head, from, to, entry) || reader.problem === NOT_JSON) continue;
    return `its lines are JSON, but malformed: ${reader.problem}; name the fields with --fields, such as --fields time=at,ip=client.address`;
  }
  return "no known format reads its first lines; name it with --format, or the fields of JSON with --fields";
}

/** The time of the first line that can be read; undefined if there is none. */
export function firstTimeOf(head: Buffer, format: LogFormat): number | undefined {
  const reader = format.createReader(NO_NEEDS);
  const entry = new LogEntry();
  for (const [from, to] of linesOf(head)) if (reader.read(head, from, to, entry)) return entry.atMs;
  return undefined;
}

function countReadable(head: Buffer, format: LogFormat): number {
  const reader = format.createReader(NO_NEEDS);
  const entry = new LogEntry();
  let count = 0;
  for (const [from, to] of linesOf(head)) {
    if (reader.read(head, from, to, entry)) count++;
    if (count === READABLE_MAX) break;
  }
  return count;
}

function toCommonOrCombined(head: Buffer): LogFormat {
  let quoted = 0;
  let plain = 0;
  for (const [from, to] of linesOf(head)) {
    const rest = restOf(head.toString("latin1", from, to));
    if (rest === "quoted") quoted++;
    else if (rest === "none") plain++;
  }
  return quoted > plain ? combined : common;
}

/** The first lines; the last only if it is the only one, since it may be cut off. */
function* linesOf(head: Buffer): Generator<readonly [from: number, to: number]> {
  let from = afterMark(head, 0, head.length);
  for (let count = 0; count < LINES_MAX && from < head.length; count++) {
    const end = head.indexOf(NEWLINE, from);
    if (end < 0) {
      if (count === 0) yield [from, head.length];
      return;
    }
    yield [from, end];
    from = end + 1;
  }
}
