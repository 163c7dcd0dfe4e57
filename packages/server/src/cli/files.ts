// Files that are named on the command line; `-` is the standard input.

import { readFile, stat } from "node:fs/promises";
import { usageError } from "./exit.js";
import type { Terminal } from "./terminal/terminal.js";

/** A file of rules may have 8 MiB; nothing that the command reads is larger. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * The text of a file.
 *
 * @throws CommandError that says why it can't be read.
 */
export async function readText(path: string, terminal: Terminal): Promise<string> {
  if (path === "-") return terminal.readInput();
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX) throw usageError(`${path}: larger than ${FILE_BYTES_MAX} bytes`);
    return await readFile(path, "utf8");
  } catch (error) {
    throw toMisuse(path, error);
  }
}

/** How a file is called in messages. */
export function nameOf(path: string): string {
  return path === "-" ? "standard input" : path;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "not allowed to read it",
  EISDIR: "a folder, not a file",
};

/** Why a file can't be read, as an error of the command; other errors as they are. */
export function toMisuse(path: string, error: unknown): unknown {
  const { code } = error as { code?: string };
  return code === undefined ? error : usageError(`${path}: ${REASONS[code] ?? code}`);
}
