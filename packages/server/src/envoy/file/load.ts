// Files and folders of envoyproxy/ratelimit into domains. All of them are read before anything is used: a
// mistake in one keeps what is in force, and names every problem of all files.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ServerError, show } from "../../errors.js";
import { lookAt } from "../../watch-files.js";
import { type DomainConfig, type ParsedFile, parseFile } from "./parse.js";
import { TEXT_LENGTH_MAX } from "./source.js";

/** The most files, those of folders together. */
export const FILES_MAX = 1_000;
const PROBLEMS_SHOWN_MAX = 50;

/** What all files say together. */
export interface LoadedFiles {
  readonly domains: readonly DomainConfig[];
  /** What is there and has no effect, each with its place. */
  readonly warnings: readonly string[];
}

/**
 * Reads files, and those of folders that end in `.yaml` or `.yml` and don't begin with a dot, by name.
 *
 * @throws ServerError with every problem, each with its file and line.
 */
export async function loadFiles(paths: readonly string[]): Promise<LoadedFiles> {
  const files = await listFiles(paths).catch(toUnreadable);
  const parsed = await Promise.all(files.map(readOne));
  const domains = parsed.flatMap(({ domain }) => domain ?? []);
  const problems = [...parsed.flatMap((file) => file.problems), ...findRepeats(domains)];
  if (problems.length > 0)
    throw new ServerError("SLUICE_ENVOY_CONFIG_INVALID", toMessage(problems));
  return { domains, warnings: parsed.flatMap(({ warnings }) => warnings) };
}

/** Something that changes whenever a file does, or which ones there are. Never rejects. */
export function lookAtFiles(paths: readonly string[]): Promise<string> {
  return listFiles(paths).then(lookAt, String);
}

async function listFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if ((await stat(path)).isDirectory()) files.push(...(await listFolder(path)));
    else files.push(path);
  }
  if (files.length > FILES_MAX) {
    throw new Error(`${files.length} files, at most ${FILES_MAX} are read`);
  }
  return files;
}

async function listFolder(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => /^[^.].*\.ya?ml$/.test(name))
    .toSorted()
    .map((name) => join(folder, name));
}

async function readOne(file: string): Promise<ParsedFile> {
  try {
    const { size } = await stat(file);
    if (size > 4 * TEXT_LENGTH_MAX) throw new Error(`${size} bytes are too many`);
    return parseFile(file, await readFile(file, "utf8"));
  } catch (error) {
    return { domain: undefined, problems: [`${file}: ${toText(error)}`], warnings: [] };
  }
}

function findRepeats(domains: readonly DomainConfig[]): readonly string[] {
  const places = new Map<string, string>();
  return domains.flatMap(({ domain, place }) => {
    const before = places.get(domain);
    if (before === undefined) places.set(domain, place);
    return before === undefined
      ? []
      : [`${place}: duplicate domain ${show(domain)}, as in ${before}`];
  });
}

function toUnreadable(error: unknown): never {
  throw new ServerError("SLUICE_ENVOY_CONFIG_INVALID", toText(error), { cause: error });
}

function toMessage(problems: readonly string[]): string {
  if (problems.length === 1) return problems[0];
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX);
  const more = problems.length - shown.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [`${problems.length} problems`, ...shown, ...rest].join("\n  ");
}

function toText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
