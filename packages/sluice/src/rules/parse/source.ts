// Text of rules into a plain value: YAML, of which JSON is a part. Whatever YAML allows and a file of
// rules has no use for (several documents, tags, keys that are no text, a key twice) is a problem
// here, and so is a text that would take long to read.

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
import { show } from "../../errors.js";
import { type Path, type Position, Problems, type Source } from "./problems.js";

/** The longest text, in characters. */
export const TEXT_LENGTH_MAX: number = 8 * 1024 * 1024;
/** The most anchors and aliases together: finding what an alias stands for looks at all of them. */
export const ALIASES_MAX = 10_000;
/** The most fields that aliases could add up to by merge keys, which copy what they stand for. */
export const MERGED_MAX = 20_000_000;

/** Reads a text. Throws all problems of its YAML together. */
export function toSource(text: string, file: string | undefined): Source {
  if (text.length > TEXT_LENGTH_MAX) {
    failAt(file, `the text has ${text.length} characters, at most ${TEXT_LENGTH_MAX} are read`);
  }
  const lines = new LineCounter();
  const document = parseText(text, lines, file);
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  checkDocument(document, at, file);
  const value = toValue(document, file);
  return { value, file, locate: (path) => at(offsetOf(document, path)) };
}

function parseText(text: string, lineCounter: LineCounter, file: string | undefined): Document {
  try {
    // Keys that come twice are looked for below: here each would be compared with all others.
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: false,
      stringKeys: true,
      merge: true,
    });
  } catch (error) {
    // Nesting that is deeper than the stack, for one.
    failAt(file, `the text can't be read: ${toLine(error)}`);
  }
}

/** The plain value. Aliases stay shared objects; only merged maps are copied. */
function toValue(document: Document, file: string | undefined): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    failAt(file, `the text can't be read: ${toLine(error)}`);
  }
}

/** Something that YAML allows or not, and a file of rules does not. */
interface Misuse {
  readonly text: string;
  readonly offset: number;
}

function checkDocument(
  document: Document,
  at: (offset: number) => Position,
  file: string | undefined,
): void {
  const found = [...document.errors, ...document.warnings].map(
    (error): Misuse => ({
      text: error.code === "MULTIPLE_DOCS" ? "the text holds several documents" : toLine(error),
      offset: error.pos[0],
    }),
  );
  if (found.length === 0) found.push(...findMisuse(document));
  const positions = found.map(({ offset }) => at(offset));
  let next = 0;
  const problems = new Problems({ value: undefined, file, locate: () => positions[next++] });
  for (const { text } of found) problems.add([], text);
  problems.throwIfAny();
}

/** Keys that one map has twice, aliases of nothing, and more of them than the bound. */
function findMisuse(document: Document): Misuse[] {
  const found: Misuse[] = [];
  const anchors = new Set<string>();
  let aliasCount = 0;
  let anchoredCount = 0;
  visit(document, {
    Node: (_key, node) => {
      if (isMap(node)) found.push(...findRepeats(node));
      if (isMap(node) && node.anchor !== undefined) anchoredCount += node.items.length;
      const offset = node.range?.[0] ?? 0;
      if (isAlias(node) && !anchors.has(node.source)) {
        found.push({ text: `the alias *${node.source} stands for nothing before it`, offset });
      }
      if (isAlias(node) || node.anchor !== undefined) aliasCount += 1;
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
      if (aliasCount <= ALIASES_MAX) return undefined;
      found.push({ text: `more than ${ALIASES_MAX} anchors and aliases`, offset });
      return visit.BREAK;
    },
  });
  if (aliasCount * anchoredCount > MERGED_MAX) {
    const seen = `${aliasCount} anchors and aliases of ${anchoredCount} fields`;
    found.push({ text: `${seen} may add up to more than ${MERGED_MAX}`, offset: 0 });
  }
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
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node) && typeof step === "number") {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => toKeyName(key) === String(step));
      if (pair === undefined) break;
      node = pair.value;
      // A map or a list begins below its name, and nothing at all begins nowhere.
      const isWritten = isScalar(node) && node.value !== null;
      offset = startOf(isWritten ? node : pair.key) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function failAt(file: string | undefined, text: string): never {
  const problems = new Problems({ value: undefined, file, locate: () => undefined });
  problems.add([], text);
  problems.throwIfAny();
  throw new Error("a problem was told and not thrown");
}

/** What an error says, on one line. */
function toLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}
