// Reads rules that are written as JSON, the usual form of rules that a program wrote, in a tenth of the time of the
// YAML parser. It reports no problems: whatever it does not accept goes to the YAML parser, which does.

import type { Path } from "../../base/shapes/shapes.js";
import type { TextPosition } from "./problems.js";
import { NESTING_MAX, TEXT_LENGTH_MAX } from "./yaml.js";

/** A string that was read. */
export interface JsonText {
  readonly value: unknown;
  /** The line of a rule, by its path; undefined of anything else. Columns are not known. */
  lineOf(path: Path): TextPosition | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const LIST = 0x5b;
const LIST_END = 0x5d;
/** Carriage returns that end a line by themselves, as YAML may see it. */
const BARE_RETURN = /\r(?!\n)/;
/** A key that YAML replaces by what it stands for. */
const MERGE_KEY = "<<";

/** Reads a string as JSON; undefined if it is not JSON, has a key twice, or is otherwise a case for the YAML parser. */
export function readJson(text: string): JsonText | undefined {
  if (!/^\s*\{/.test(text) || text.length > TEXT_LENGTH_MAX || BARE_RETURN.test(text)) {
    return undefined;
  }
  const value = parse(text);
  const lines = value === undefined ? undefined : findRuleLines(text);
  if (lines === undefined) return undefined;
  return {
    value,
    lineOf: ([list, index]) => {
      const line = list === "rules" ? lines[Number(index)] : undefined;
      return line === undefined ? undefined : { line, column: 1 };
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object or a list that has begun. */
interface Open {
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The key that was read last. */
  key: string;
  /** Whether the next string is a key. */
  isKeyNext: boolean;
}

/** The lines on which the rules of valid JSON begin; undefined if a key comes twice, or for a string that is too deep. */
function findRuleLines(text: string): readonly number[] | undefined {
  const lines: number[] = [];
  const open: Open[] = [];
  let line = 1;
  for (let at = 0; at < text.length; at++) {
    const top = open.at(-1);
    switch (text.charCodeAt(at)) {
      case NEWLINE:
        line++;
        break;
      case COMMA:
        if (top?.keys !== undefined) top.isKeyNext = true;
        break;
      case OBJECT:
        if (open.length === 2 && top?.keys === undefined && open[0].key === "rules")
          lines.push(line);
        open.push({ keys: new Set(), key: "", isKeyNext: true });
        break;
      case LIST:
        open.push({ keys: undefined, key: "", isKeyNext: false });
        break;
      case OBJECT_END:
      case LIST_END:
        open.pop();
        break;
      case QUOTE: {
        const end = endOfString(text, at);
        if (top?.isKeyNext && !addKey(top, text.slice(at + 1, end))) return undefined;
        at = end;
      }
    }
    if (open.length > NESTING_MAX) return undefined;
  }
  return lines;
}

/** False if it is there already, or might be something else to YAML. */
function addKey(object: Open, key: string): boolean {
  if (key === MERGE_KEY || key.includes("\\") || object.keys?.has(key)) return false;
  object.keys?.add(key);
  object.key = key;
  object.isKeyNext = false;
  return true;
}

/** Where the string that begins at `start` has its closing quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
}
