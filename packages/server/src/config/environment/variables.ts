// Replaces `${NAME}` and `${NAME:-default}` in strings of a configuration with environment variables, after the file
// is parsed, so that their values can't change its structure. Field names are never replaced.

import type { Path } from "sluice/shapes";
import { ConfigError, type ConfigProblems, toPathText } from "../problems.js";

/** The most values of a configuration, those of aliases counted wherever they are. */
export const VALUES_MAX = 500_000;
/** How deep values may be nested. */
export const DEPTH_MAX = 64;

/** A configuration whose variables are replaced. */
export interface Replaced {
  /** A copy of its own. */
  readonly value: unknown;
  /** The values that were replaced, as the file has them, by their path as a string. */
  readonly written: ReadonlyMap<string, string>;
  /** The variables that the file refers to, set or not. */
  readonly names: ReadonlySet<string>;
}

/** Replaces variables everywhere in a value. Those that are missing are problems. */
export function replaceVariables(
  value: unknown,
  env: NodeJS.ProcessEnv,
  problems: ConfigProblems,
): Replaced {
  const written = new Map<string, string>();
  const names = new Set<string>();
  let valueCount = 0;
  const copy = (from: unknown, path: Path): unknown => {
    valueCount += 1;
    if (valueCount > VALUES_MAX) fail(`the configuration holds more than ${VALUES_MAX} values`);
    if (path.length > DEPTH_MAX) fail(`${toPathText(path.slice(0, 3))} is nested too deeply`);
    if (typeof from === "string") {
      const text = replaceIn(from, env, names, (problem) => problems.add(path, problem));
      if (text !== from) written.set(toPathText(path), from);
      return text;
    }
    if (Array.isArray(from)) return from.map((entry, i) => copy(entry, [...path, i]));
    if (!isPlainObject(from)) return from;
    return Object.fromEntries(
      Object.entries(from)
        .filter(([name]) => isName(name, path, problems))
        .map(([name, entry]) => [name, copy(entry, [...path, name])]),
    );
  };
  return { value: copy(value, []), written, names };
}

const OPEN = "${";
const VARIABLE = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g;

function replaceIn(
  text: string,
  env: NodeJS.ProcessEnv,
  names: Set<string>,
  report: (problem: string) => void,
): string {
  return text.replace(VARIABLE, (found, name?: string, otherwise?: string) => {
    if (found === "$${") return "${";
    if (name === undefined) {
      report(
        `has ${OPEN} without NAME} or NAME:-default} after it; write $${OPEN} for the characters themselves`,
      );
      return found;
    }
    names.add(name);
    const value = env[name];
    // As shells do it: an empty one has no value either, where there is a default.
    if (otherwise !== undefined && (value === undefined || value === "")) return otherwise;
    if (value === undefined) {
      report(`needs the variable ${name}, which is not set`);
      return found;
    }
    return value;
  });
}

/** A name that means something to JavaScript would vanish on the way, and nothing may vanish. */
function isName(name: string, path: Path, problems: ConfigProblems): boolean {
  if (name !== "__proto__") return true;
  problems.add([...path, name], "can't be a name");
  return false;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null;
}

function fail(message: string): never {
  throw new ConfigError([{ message, place: undefined, line: undefined }]);
}
