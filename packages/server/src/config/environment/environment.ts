// Environment variables that override values of the file. A variable that names no value is a problem, unless the file
// refers to it: if a misspelt one were ignored, the default would be used silently.

import { nearestName } from "sluice/rules";
import { isRecord, type Path } from "sluice/shapes";
import { parse } from "yaml";
import { fileSection } from "../description/file.js";
import { nodeAt, toNode } from "../description/walk.js";
import { type ConfigProblems, toPathText } from "../problems.js";
import { childOf, findVariable, isOurs, listVariables, toWords } from "./variable-names.js";

/** The variables of a process, and which of them the file refers to as `${NAME}`. */
export interface Environment {
  readonly env: NodeJS.ProcessEnv;
  readonly referred: ReadonlySet<string>;
}

/**
 * Puts the values of variables into `value`, which is changed. Answers which variable a value came from,
 * by its path as a string.
 */
export function applyEnvironment(
  value: Record<string, unknown>,
  { env, referred }: Environment,
  problems: ConfigProblems,
): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (text === undefined || !isOurs(name, text)) continue;
    const path = findVariable(name, value);
    if (path === undefined && referred.has(name)) continue;
    if (path === undefined) {
      const nearest = nearestName(name, listVariables(value));
      const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
      problems.addVariable(name, `does not match any setting${hint}`);
      continue;
    }
    const entry = toValue(path, text);
    const problem =
      entry === UNREADABLE
        ? "must be YAML or JSON"
        : (findRivals(value, path) ?? findWhole(path, variables));
    if (problem !== undefined) problems.addVariable(name, problem);
    else {
      setAt(value, path, entry);
      variables.set(toPathText(path), name);
    }
  }
  return variables;
}

/** Entries of the file whose names are one in capitals: which of them is meant is ambiguous. */
function findRivals(value: unknown, path: Path): string | undefined {
  let given = value;
  for (const [i, step] of path.entries()) {
    const words = toWords(String(step));
    const rivals = Object.keys(isRecord(given) ? given : {}).filter(
      (key) => toWords(key) === words,
    );
    if (rivals.length > 1) {
      const names = rivals.map((rival) => toPathText([...path.slice(0, i), rival]));
      return `could mean ${names.join(" or ")}`;
    }
    given = childOf(given, String(step));
  }
  return undefined;
}

/** Another variable that said the whole of what may be said in one way only. */
function findWhole(path: Path, variables: ReadonlyMap<string, string>): string | undefined {
  const around = path.slice(0, -1);
  const whole = kindAt(around) === "value" ? variables.get(toPathText(around)) : undefined;
  return whole === undefined ? undefined : `can't be used together with ${whole}`;
}

const UNREADABLE = Symbol("unreadable");

/** What a string stands for at that path: a value, a list with commas, or YAML for what is more than that. */
function toValue(path: Path, text: string): unknown {
  const node = nodeAt(fileSection, path);
  if (node?.kind === "list" && toNode(node.entry).kind === "value") return toList(text);
  if (node?.kind === "value" && node.shape.parts === undefined) return text;
  if (node === undefined) return text;
  try {
    return parse(text, { logLevel: "error" }) as unknown;
  } catch {
    return UNREADABLE;
  }
}

function toList(text: string): string[] {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => entry.trim());
}

function setAt(root: Record<string, unknown>, path: Path, value: unknown): void {
  let map = root;
  for (const [i, step] of path.slice(0, -1).entries()) {
    const next = map[step];
    // What stands there and can't hold fields is a problem of its own, reported when it is checked.
    if (next !== undefined && next !== null && !isRecord(next)) return;
    // Rules are named or written: the name of a file takes the place of what is written.
    const isReplaced = !isRecord(next) || kindAt(path.slice(0, i + 1)) === "value";
    map = isReplaced ? create(map, step) : next;
  }
  map[path.at(-1) as string] = value;
}

function kindAt(path: Path): string | undefined {
  return nodeAt(fileSection, path)?.kind;
}

function create(map: Record<string, unknown>, name: string | number): Record<string, unknown> {
  const made = {};
  map[name] = made;
  return made;
}
