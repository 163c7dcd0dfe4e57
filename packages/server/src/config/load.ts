// Reads a configuration: from a file, from the text of one, or from an object in code. All
// problems are reported together. The result has every default filled in and needs no further checks.

import { readFileSync } from "node:fs";
import type { IdentityOptions } from "sluice/http";
import { ServerError } from "../base/errors.js";
import { crossCheck } from "./checks/sections.js";
import type { Config } from "./config.js";
import type { FileValues } from "./description/file.js";
import { readSections } from "./read-sections.js";
import { type ConfigSource, toCodeSource, toTextSource } from "./source.js";
import { buildConfig, toResolver } from "./to-config.js";

export { ConfigError, type ConfigProblem } from "./problems.js";

/** Where a configuration comes from. */
export interface ConfigOrigin {
  /**
   * The file, for errors; relative paths in it are relative to it. Default: none, and paths are relative to
   * the working directory.
   */
  readonly file?: string | undefined;
  /** The environment. Default: an empty one. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Reads a configuration file.
 *
 * @throws ServerError `SLUICE_CONFIG_UNREADABLE` if the file does not exist; {@link ConfigError},
 * `SLUICE_CONFIG_INVALID`, with every problem, its line and what was seen.
 */
export function loadConfig(path: string, env: NodeJS.ProcessEnv): Config {
  return parseConfig(readText(path), { file: path, env });
}

/** Reads the text of a configuration file, YAML or JSON. Throws as {@link loadConfig} does. */
export function parseConfig(text: string, origin: ConfigOrigin = {}): Config {
  return toChecked(toTextSource(text, origin.file), origin);
}

/** Reads a configuration that is written in code: an object of what a file would say. */
export function toConfig(input: object, origin: ConfigOrigin = {}): Config {
  return toChecked(toCodeSource(input, origin.file), origin);
}

function toChecked(source: ConfigSource, { file, env = {} }: ConfigOrigin): Config {
  const sections = readSections(source, env);
  const at = toResolver(file);
  const { identity } = crossCheck(sections, at);
  sections.problems.throwIfAny();
  // Without problems every section is there, and so is identity.
  const values = sections.values as FileValues;
  return buildConfig(values, { file, identity: identity as IdentityOptions, at });
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const seen = `${path}: ${(cause as Error).message}`;
    throw new ServerError("SLUICE_CONFIG_UNREADABLE", seen, { cause });
  }
}
