// Files and folders of envoyproxy/ratelimit into domains. All of them are read before anything is used: a
// mistake in one keeps what is in force, and names every problem of all files.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ServerError, show } from "../../base/errors.js";
import { lookAt } from "../../base/files/watch-files.js";
import {
  type DescriptorConfig,
  type DomainConfig,
  type ParsedFile,
  parseFile,
  toComposite,
} from "./parse.js";
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

/** How files are read. */
export interface LoadOptions {
  /** Whether several files may have the same domain, each with descriptors of its own. Default false. */
  readonly mergeDomains?: boolean;
}

/**
 * Reads files, and those of folders that end in `.yaml` or `.yml` and don't begin with a dot, by name.
 *
 * @throws ServerError with every problem, each with its file and line.
 */
export async function loadFiles(
  paths: readonly string[],
  { mergeDomains = false }: LoadOptions = {},
): Promise<LoadedFiles> {
  const files = await listFiles(paths).catch(toUnreadable);
  const parsed = await Promise.all(files.map(readOne));
  const domains = parsed.flatMap(({ domain }) => domain ?? []);
  const repeats = mergeDomains ? findRepeatedDescriptors(domains) : findRepeatedDomains(domains);
  const problems = [...parsed.flatMap((file) => file.problems), ...repeats];
  if (problems.length > 0)
    throw new ServerError("SLUICE_ENVOY_CONFIG_INVALID", toMessage(problems));
  const warnings = parsed.flatMap((file) => file.warnings);
  return { domains: mergeDomains ? merge(domains) : domains, warnings };
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
    if (size > 4 * TEXT_LENGTH_MAX) throw new Error(`the file is too large (${size} bytes)`);
    return parseFile(file, await readFile(file, "utf8"));
  } catch (error) {
    return { domain: undefined, problems: [`${file}: ${toText(error)}`], warnings: [] };
  }
}

function findRepeatedDomains(domains: readonly DomainConfig[]): readonly string[] {
  return findRepeats(
    domains.map(({ domain, place }) => ({ what: `domain ${show(domain)}`, place })),
  );
}

/** Finds descriptors that repeat on the first level, where files are merged; below it, each file is checked by itself. */
function findRepeatedDescriptors(domains: readonly DomainConfig[]): readonly string[] {
  return findRepeats(
    domains.flatMap(({ domain, descriptors }) =>
      descriptors.map(({ key, value, place }) => {
        const name = show(`${domain}.${toComposite(key, value)}`);
        return { what: `descriptor composite key ${name}`, place };
      }),
    ),
  );
}

function findRepeats(
  named: readonly { readonly what: string; readonly place: string }[],
): readonly string[] {
  const places = new Map<string, string>();
  return named.flatMap(({ what, place }) => {
    const before = places.get(what);
    if (before === undefined) places.set(what, place);
    return before === undefined ? [] : [`${place}: duplicate ${what}, as in ${before}`];
  });
}

/** One for each domain, with the descriptors of all its files in the order of the files. */
function merge(domains: readonly DomainConfig[]): readonly DomainConfig[] {
  const merged = new Map<string, DomainConfig & { readonly descriptors: DescriptorConfig[] }>();
  for (const { domain, place, descriptors } of domains) {
    const before = merged.get(domain);
    if (before === undefined) merged.set(domain, { domain, place, descriptors: [...descriptors] });
    else for (const descriptor of descriptors) before.descriptors.push(descriptor);
  }
  return [...merged.values()];
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
