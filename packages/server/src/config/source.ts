// What a configuration is read from: the text of a file, which has lines, or an object in code.

import { readYaml, type YamlProblem } from "sluice/rules";
import { type Path, toPlace } from "sluice/shapes";
import { ConfigError, type ConfigProblem } from "./problems.js";

/** What a configuration is read from. */
export interface ConfigSource {
  /** Still unknown. */
  readonly value: unknown;
  /** The name of the file, if it has one. */
  readonly file: string | undefined;
  /** The line of the value at that path, from 1, or of the closest thing around it. */
  lineOf(path: Path): number | undefined;
  /** The text of the value at that path on its own lines, with nothing before it. */
  textAt(path: Path): string | undefined;
}

/** A value from code, which has no lines. */
export function toCodeSource(value: unknown, file: string | undefined): ConfigSource {
  return { value, file, lineOf: () => undefined, textAt: () => undefined };
}

/** Reads a string. Throws the problems of its YAML; if it is not YAML, only the first, as what follows is noise. */
export function toTextSource(text: string, file: string | undefined): ConfigSource {
  const { problems, value, positionOf, textAt } = readYaml(text);
  if (problems.length > 0) {
    const shown = problems[0].isOfParser ? problems.slice(0, 1) : problems;
    throw new ConfigError(shown.map((problem) => toProblem(problem, text, file)));
  }
  return { value, file, lineOf: (path) => positionOf(path).line, textAt };
}

function toProblem(
  { message, position, isOfParser }: YamlProblem,
  text: string,
  file: string | undefined,
): ConfigProblem {
  const line = position?.line;
  const shown = isOfParser ? `${withoutQuotes(message)}${hintAt(text, line)}` : message;
  return { message: shown, place: toPlace(line, file), line };
}

/** What is quoted may be a secret. */
function withoutQuotes(message: string): string {
  return message.replace(/(?<=\s|\\n)["'`].*["'`]/, "…");
}

function hintAt(text: string, line: number | undefined): string {
  const hasVariable = line !== undefined && text.split("\n", line)[line - 1]?.includes("${");
  return hasVariable ? "; inside { } or [ ], a string with ${ needs quotes" : "";
}
