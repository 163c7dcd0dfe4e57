// Reads a configuration: from a file, from the text of one, or from an object in code. Everything that is
// wrong is told together; what comes out has every default filled in and needs no further checks.

import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { ServerError } from "../errors.js";
import type { Config } from "./config.js";
import { fileSection } from "./description/file.js";
import { ConfigError, toPathText } from "./problems.js";
import { toSettled } from "./to-config.js";

/** Where a configuration comes from. */
export interface ConfigOrigin {
  /** The file, for errors and for relative paths in it. Default: none, and paths are relative to the working directory. */
  readonly file?: string | undefined;
  /** The environment. Default: an empty one. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Reads a configuration file.
 *
 * @throws ServerError `SLUICE_CONFIG_UNREADABLE` if there is none, `SLUICE_CONFIG_INVALID` with every
 * problem, its line and what was seen.
 */
export function loadConfig(path: string, env: NodeJS.ProcessEnv): Config {
  return parseConfig(readText(path), { file: path, env });
}

/** Reads the text of a configuration file, YAML or JSON. Throws as {@link loadConfig} does. */
export function parseConfig(text: string, origin: ConfigOrigin = {}): Config {
  return toConfig(parseDocument(text).toJS() as object, origin);
}

/** Reads a configuration that is written in code, as an object of what a file would say. */
export function toConfig(input: object, origin: ConfigOrigin = {}): Config {
  const parsed = fileSection.safeParse(input);
  if (parsed.success) return toSettled(parsed.data, origin.file);
  throw new ConfigError(
    parsed.error.issues.map(({ path, message }) => ({
      message: `${toPathText(path as (string | number)[])} ${message}`,
      place: origin.file,
      line: undefined,
    })),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ServerError("SLUICE_CONFIG_UNREADABLE", `${path}: ${(cause as Error).message}`, {
      cause,
    });
  }
}
