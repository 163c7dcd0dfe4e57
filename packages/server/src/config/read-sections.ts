// Reads the sections of a configuration: replaces variables, applies the environment and checks every section
// against its description. Invalid sections are left out, so that the others can still be checked against
// each other and all problems are reported together.

import { type Mismatch, type Path, Reading, Spot, toPlace } from "sluice/shapes";
import { show } from "../base/errors.js";
import { type FileValues, fileSection } from "./description/file.js";
import { nodeAt } from "./description/walk.js";
import { applyEnvironment } from "./environment/environment.js";
import { replaceVariables } from "./environment/variables.js";
import { ConfigProblems, toPathText } from "./problems.js";
import type { ConfigSource } from "./source.js";

/** The name of a section. */
export type SectionName = keyof FileValues;

/** A configuration as far as it could be read. */
export interface ConfigSections {
  readonly source: ConfigSource;
  readonly problems: ConfigProblems;
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
  const problems = new ConfigProblems((path) => {
    const variable = variableOf(path, variables);
    if (variable !== undefined) return { place: variable, line: undefined };
    const line = source.lineOf(path);
    return { place: toPlace(line, source.file), line };
  });
  const { value, written, names: referred } = replaceVariables(source.value, env, problems);
  const raw = asSections(value, problems);
  variables = applyEnvironment(raw, { env, referred }, problems);
  const values: Partial<FileValues> = {};
  const reading = new SectionsReading(problems, written);
  const root = new Spot(reading);
  const names = Object.keys(fileSection.fields) as SectionName[];
  for (const name of Object.keys(raw))
    if (!Object.hasOwn(fileSection.fields, name)) root.sayUnknown(name, names);
  for (const name of names) {
    const { problemCount } = reading;
    const value = fileSection.readField(name, raw, root);
    if (reading.problemCount === problemCount) Object.assign(values, { [name]: value });
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
function asSections(value: unknown, problems: ConfigProblems): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  // Not shown: a file that is not a configuration may be anything.
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

/** Values with variables, as the file has them, by their path as a string. */
type Written = ReadonlyMap<string, string>;

/** Reads sections one by one, and adds what is wrong to the problems of the whole. */
class SectionsReading extends Reading {
  readonly #problems: ConfigProblems;
  readonly #written: Written;
  #problemCount = 0;

  constructor(problems: ConfigProblems, written: Written) {
    super();
    this.#problems = problems;
    this.#written = written;
  }

  get problemCount(): number {
    return this.#problemCount;
  }

  report(path: Path, problem: string): void {
    this.#problemCount += 1;
    this.#problems.add(path, problem);
  }

  override refuse(path: Path, refusal: Mismatch): void {
    // A variable that is missing was reported before.
    if (this.#problems.hasProblem(path)) this.#problemCount += 1;
    else super.refuse(path, refusal);
  }

  override show(value: unknown, path: Path): string {
    return showAt(path, value, this.#written);
  }
}

/** What was seen, of secrets no more than their length and a URL's scheme, of variables their names. */
function showAt(path: Path, value: unknown, written: Written): string {
  const text = written.get(toPathText(path));
  const node = nodeAt(fileSection, path);
  const scheme = node?.kind === "value" && node.shape.isUrl ? showScheme(value) : undefined;
  if (text !== undefined && scheme !== undefined)
    return `${show(text)}, which ${scheme} once its variables are replaced`;
  if (text !== undefined) return `${show(text)}, with its variables replaced`;
  if (typeof value !== "string")
    return node?.kind === "value" ? showScalar(node.shape, value) : show(value);
  // What stands where a section should be may be the secret that belongs into it.
  if (node?.kind !== "value" || node.shape.isSecret) {
    const length = `a string of ${value.length} characters`;
    return scheme === undefined ? length : `${length} that ${scheme}`;
  }
  return hasCredentials(value) ? "an address with credentials" : show(value);
}

/** What stands before `://`, where no password can be; a scheme is short. */
const SCHEME = /^(?:file:|[a-z][a-z\d+.-]{0,15}:\/\/)/i;

function showScheme(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const scheme = SCHEME.exec(value)?.[0];
  return scheme === undefined ? "has no scheme" : `begins with ${scheme}`;
}

function showScalar({ isSecret }: { isSecret: boolean }, value: unknown): string {
  return isSecret && typeof value !== "object" ? `a ${typeof value}, not in quotes` : show(value);
}

function hasCredentials(text: string): boolean {
  return /\/\/[^/\s]*@/.test(text);
}

/** The value of a variable may be anywhere in a message, cut off or escaped, so everything that is quoted is removed. */
function concealIn(message: string, name: SectionName, written: Written): string {
  const hasVariables = [...written.keys()].some((path) => path.split(/[.[]/, 1)[0] === name);
  return hasVariables ? message.replace(/"(?:[^"\\]|\\.)*"/g, '"…"') : message;
}
