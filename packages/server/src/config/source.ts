// The text of a configuration into a plain value: YAML, of which JSON is a part. Whatever YAML allows and a
// configuration has no use for (several documents, tags, keys that are no text, a key twice) is a problem.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";
import { show } from "../errors.js";
import { ConfigError, type ConfigProblem, type Path, toPlace } from "./problems.js";

/** What a configuration is read from. */
export interface Source {
  /** Still unknown. */
  readonly value: unknown;
  /** The name of the file, if it has one. */
  readonly file: string | undefined;
  /** The line of the value at that path, from 1, or of the closest thing around it. */
  lineOf(path: Path): number | undefined;
  /** The text of the value at that path on its own lines, with nothing before it. */
  textAt(path: Path): string | undefined;
}

/** The longest text, in characters. */
export const TEXT_LENGTH_MAX: number = 8 * 1024 * 1024;
/** The most anchors and aliases together: finding what an alias stands for looks at all of them. */
export const ALIASES_MAX = 1_000;

/** A value from code, which has no lines. */
export function toCodeSource(value: unknown, file: string | undefined): Source {
  return { value, file, lineOf: () => undefined, textAt: () => undefined };
}

/** Reads a text. Throws all problems of its YAML together. */
export function toTextSource(text: string, file: string | undefined): Source {
  if (text.length > TEXT_LENGTH_MAX) {
    const seen = `the text has ${text.length} characters, at most ${TEXT_LENGTH_MAX} are read`;
    throw new ConfigError([{ message: seen, place: file, line: undefined }]);
  }
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  const document = attempt(file, () =>
    parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      // Keys that come twice are looked for below: here each would be compared with all others.
      uniqueKeys: false,
      stringKeys: true,
      merge: true,
    }),
  );
  const misuses = findMisuses(document, text);
  if (misuses.length > 0) throw new ConfigError(toProblems(misuses, lineAt, file));
  return {
    value: attempt(file, () => document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown),
    file,
    lineOf: (path) => lineAt(offsetOf(document, path)),
    textAt: (path) => cutOut(text, nodeAt(document, path)),
  };
}

/** Nesting that is deeper than the stack, for one, is thrown by the parser. */
function attempt<T>(file: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const message = `the text can't be read: ${toLine(error)}`;
    throw new ConfigError([{ message, place: file, line: undefined }]);
  }
}

interface Misuse {
  readonly text: string;
  readonly offset: number;
}

function toProblems(
  misuses: readonly Misuse[],
  lineAt: (offset: number) => number,
  file: string | undefined,
): ConfigProblem[] {
  return misuses.map(({ text, offset }) => {
    const line = lineAt(offset);
    return { message: text, place: toPlace(line, file), line };
  });
}

/** Of what is no YAML the first alone: what follows it is read out of step, and noise. */
function findMisuses(document: Document, text: string): Misuse[] {
  const [error] = [...document.errors, ...document.warnings].toSorted(
    (a, b) => a.pos[0] - b.pos[0],
  );
  if (error === undefined) return findRepeatsAndAliases(document);
  const [offset] = error.pos;
  if (error.code === "MULTIPLE_DOCS") return [{ text: "the text holds several documents", offset }];
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1).split("\n", 1)[0];
  const hint = line.includes("${") ? "; inside { } or [ ] a text with ${ needs quotes" : "";
  return [{ text: `${toLine(error)}${hint}`, offset }];
}

function findRepeatsAndAliases(document: Document): Misuse[] {
  const found: Misuse[] = [];
  const anchors = new Set<string>();
  let aliasCount = 0;
  visit(document, {
    Node: (_key, node) => {
      const offset = node.range?.[0] ?? 0;
      if (isMap(node)) found.push(...findRepeats(node));
      if (isAlias(node) && !anchors.has(node.source)) {
        found.push({ text: `the alias *${node.source} stands for nothing before it`, offset });
      }
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
      if (isAlias(node) || node.anchor !== undefined) aliasCount += 1;
      if (aliasCount <= ALIASES_MAX) return undefined;
      found.push({ text: `more than ${ALIASES_MAX} anchors and aliases`, offset });
      return visit.BREAK;
    },
  });
  return found;
}

function findRepeats(map: YAMLMap): Misuse[] {
  const seen = new Set<string>();
  const found: Misuse[] = [];
  for (const { key } of map.items as Pair<Node, Node | null>[]) {
    const name = toKeyName(key);
    if (name === undefined || name === "<<") continue;
    if (seen.has(name)) {
      found.push({ text: `the key ${show(name)} is there twice`, offset: key.range?.[0] ?? 0 });
    }
    seen.add(name);
  }
  return found;
}

function toKeyName(key: unknown): string | undefined {
  return isScalar(key) ? String(key.value) : undefined;
}

/** Where the value at a path begins; of one that is not written out, what is around it. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    const found = stepInto(document, node, step);
    if (found === undefined) break;
    node = found.value;
    // A map or a list begins below its name, and nothing at all begins nowhere.
    const isWritten = isScalar(node) && node.value !== null;
    offset = startOf(isWritten ? node : found.start) ?? offset;
  }
  return offset;
}

function nodeAt(document: Document, path: Path): unknown {
  let node: unknown = document.contents;
  for (const step of path) node = stepInto(document, node, step)?.value;
  return node;
}

/** The value one step below a node, and what stands where it begins. */
function stepInto(
  document: Document,
  from: unknown,
  step: string | number,
): { value: unknown; start: unknown } | undefined {
  const node = isAlias(from) ? from.resolve(document) : from;
  if (isSeq(node) && typeof step === "number") {
    const value = node.items[step];
    return value === undefined ? undefined : { value, start: value };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => toKeyName(key) === String(step));
  return pair === undefined ? undefined : { value: pair.value, start: pair.key };
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

/** A part of a text at its own place, with only white space before it: its lines keep their numbers. */
function cutOut(text: string, node: unknown): string | undefined {
  const [start, , end] = (node as Node | null | undefined)?.range ?? [];
  if (start === undefined || end === undefined) return undefined;
  return text.slice(0, start).replace(/[^\n]/g, " ") + text.slice(start, end);
}

/** What an error says, on one line and without what it quotes: that may be a secret. */
function toLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const quoteless = text.replace(/(?<=\s)["'`].*["'`]/s, "…");
  return JSON.stringify(quoteless).slice(1, -1).replaceAll('\\"', '"');
}
