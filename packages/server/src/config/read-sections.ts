// Reads the sections of a configuration: replaces variables, applies the environment and checks every section
// against its description. Invalid sections are left out, so that the others can still be checked against
// each other and all problems are reported together.

import { nearestName } from "sluice/rules";
import type { z } from "zod";
import { show } from "../base/errors.js";
import { type FileValues, fileSection } from "./description/file.js";
import { schemaAt, toNode } from "./description/walk.js";
import { applyEnvironment } from "./environment.js";
import { type Path, Problems, toPathText, toPlace } from "./problems.js";
import type { ConfigSource } from "./source.js";
import { replaceVariables } from "./variables.js";

/** The name of a section. */
export type SectionName = keyof FileValues;

/** A configuration as far as it could be read. */
export interface ConfigSections {
  readonly source: ConfigSource;
  readonly problems: Problems;
  /** The sections that can be used. */
  readonly values: Partial<FileValues>;
  /** What was written, for what the values no longer say. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Whether none of these sections has a problem. */
  isGood(...names: readonly SectionName[]): boolean;
  /** Removes the values of variables from a message of another component about a section. */
  conceal(message: string, name: SectionName): string;
}

/** Reads a source. Problems are collected in the sections, except those that leave nothing to read. */
export function readSections(source: ConfigSource, env: NodeJS.ProcessEnv): ConfigSections {
  let variables: ReadonlyMap<string, string> = new Map();
  const problems = new Problems((path) => {
    const variable = variableOf(path, variables);
    if (variable !== undefined) return { place: variable, line: undefined };
    const line = source.lineOf(path);
    return { place: toPlace(line, source.file), line };
  });
  const { value, written } = replaceVariables(source.value, env, problems);
  const raw = asSections(value, problems);
  variables = applyEnvironment(raw, env, problems);
  const values: Partial<FileValues> = {};
  const seen = { raw, written };
  addUnknown([], Object.keys(raw), problems);
  for (const [name, schema] of Object.entries(fileSection.shape)) {
    const parsed = schema.safeParse(raw[name]);
    if (parsed.success) Object.assign(values, { [name]: parsed.data });
    else for (const issue of parsed.error.issues) addIssue(issue, name, seen, problems);
  }
  return {
    source,
    problems,
    values,
    raw,
    isGood: (...names) => names.every((name) => name in values && !problems.hasProblem([name])),
    conceal: (message, name) => concealIn(message, name, written),
  };
}

/** An empty file says nothing, and the environment may say everything. */
function asSections(value: unknown, problems: Problems): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  // Not shown: a file that is no configuration may be anything.
  problems.add([], "must be a map of sections");
  problems.throwIfAny();
  return {};
}

/** The variable that set the value at a path, or something around it. */
function variableOf(path: Path, variables: ReadonlyMap<string, string>): string | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const name = variables.get(toPathText(path.slice(0, length)));
    if (name !== undefined) return name;
  }
  return undefined;
}

interface Seen {
  readonly raw: unknown;
  readonly written: ReadonlyMap<string, string>;
}

function addIssue(issue: z.core.$ZodIssue, name: string, seen: Seen, problems: Problems): void {
  const path = [name, ...(issue.path as (string | number)[])];
  if (issue.code === "unrecognized_keys") addUnknown(path, issue.keys, problems);
  // A variable that is missing was told before.
  else if (!problems.hasProblem(path)) problems.add(path, toText(issue, path, seen));
}

function toText(issue: z.core.$ZodIssue, path: Path, seen: Seen): string {
  const value = valueAt(seen.raw, path);
  if (issue.code === "invalid_key") {
    return `can't be a name: it must have ${issue.issues[0]?.message}`;
  }
  if (value === undefined) {
    return issue.message.startsWith("must") ? `is missing; it ${issue.message}` : "is missing";
  }
  const must =
    issue.code === "invalid_type" && !issue.message.startsWith("must")
      ? "must be a map of values"
      : issue.message;
  return `${must}, got ${showAt(path, value, seen)}${toHint(path, value)}`;
}

/** The word that was probably meant, where there is a list of them. */
function toHint(path: Path, value: unknown): string {
  const schema = schemaAt(fileSection, path);
  const node = schema === undefined ? undefined : toNode(schema);
  const words = node?.kind === "value" ? (node.info.words ?? []) : [];
  const nearest = typeof value === "string" ? nearestName(value, words) : undefined;
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** Names that values had before, which a file may still use. */
const FORMER_NAMES: ReadonlyMap<string, string> = new Map([["targets", "backends"]]);

function addUnknown(path: Path, names: readonly string[], problems: Problems): void {
  const schema = schemaAt(fileSection, path);
  const node = schema === undefined ? undefined : toNode(schema);
  const known = node?.kind === "section" ? Object.keys(node.fields) : [];
  for (const name of names) {
    if (known.includes(name)) continue;
    const nearest = nearestName(FORMER_NAMES.get(name) ?? name, known);
    const hint =
      nearest === undefined ? `known here: ${known.join(", ")}` : `did you mean ${nearest}?`;
    problems.add([...path, name], `is not known; ${hint}`);
  }
}

/** What was seen, of secrets no more than their length, of variables their names. */
function showAt(path: Path, value: unknown, { written }: Seen): string {
  const text = written.get(toPathText(path));
  if (text !== undefined) return `${show(text)}, with its variables replaced`;
  const schema = schemaAt(fileSection, path);
  const node = schema === undefined ? undefined : toNode(schema);
  if (typeof value !== "string")
    return node?.kind === "value" ? showScalar(node.info, value) : show(value);
  // What stands where a section should be may be the secret that belongs into it.
  if (node?.kind !== "value" || node.info.isSecret) return `a string of ${value.length} characters`;
  return hasCredentials(value) ? "an address with credentials" : show(value);
}

function showScalar({ isSecret }: { isSecret?: boolean }, value: unknown): string {
  return isSecret && typeof value !== "object" ? `a ${typeof value}, not in quotes` : show(value);
}

function hasCredentials(text: string): boolean {
  return /\/\/[^/\s]*@/.test(text);
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** What a variable stands for may be anywhere in a message, cut off and escaped: all that is quoted goes. */
function concealIn(message: string, name: SectionName, written: Seen["written"]): string {
  const hasVariables = [...written.keys()].some((path) => path.split(/[.[]/, 1)[0] === name);
  return hasVariables ? message.replace(/"(?:[^"\\]|\\.)*"/g, '"…"') : message;
}
