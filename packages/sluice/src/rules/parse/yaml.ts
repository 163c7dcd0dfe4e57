// Text as YAML, of which JSON is a part, into a plain value that remembers its lines. Whatever YAML allows and
// settings have no use for (several documents, tags, keys that are not strings, a key twice) is a problem here, and
// so is a string that would take long to read. Rules are read by it, and so is the configuration of the service.

import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  Parser,
  visit,
  type YAMLError,
  type YAMLMap,
  YAMLParseError,
} from "yaml";
import { show } from "../../base/errors.js";
import type { Path } from "../../base/shapes/shapes.js";
import type { TextPosition } from "./problems.js";

/** The longest string, in characters. */
export const TEXT_LENGTH_MAX: number = 8 * 1024 * 1024;
/**
 * The deepest nesting of lists and maps. Some thousands of levels would use up the stack, and where it ends within a
 * regular expression, V8 ends the process.
 */
export const NESTING_MAX = 200;
/** The most anchors and aliases together: finding what an alias stands for looks at all of them. */
export const ALIASES_MAX = 10_000;
/** The most fields that aliases could add up to by merge keys, which copy what they stand for. */
export const MERGED_MAX = 20_000_000;

/** Something that is wrong with a string. */
export interface YamlProblem {
  /** On one line. */
  readonly message: string;
  /** Undefined if it is about the whole string. */
  readonly position: TextPosition | undefined;
  /** Whether it is the parser that says so, which may quote the text. */
  readonly isOfParser: boolean;
}

/** A string that was read. */
export interface YamlText {
  /** Why it can't be used; empty if it can. What the parser finds after its first error may be noise. */
  readonly problems: readonly YamlProblem[];
  /** Aliases stay shared objects; only merged maps are copied. Undefined if there are problems. */
  readonly value: unknown;
  /** Where the value at a path stands, or the closest thing around it. */
  positionOf(path: Path): TextPosition;
  /** The text of the value at a path at its own place, with nothing but white space before it. */
  textAt(path: Path): string | undefined;
}

/** Reads a string. Never throws. */
export function readYaml(text: string): YamlText {
  if (text.length > TEXT_LENGTH_MAX) {
    const seen = `the text has ${text.length} characters, at most ${TEXT_LENGTH_MAX} are read`;
    return toUnreadable(seen, false);
  }
  try {
    return readDocument(text);
  } catch (error) {
    return toUnreadable(`the text can't be read: ${toLine(error)}`, true);
  }
}

function readDocument(text: string): YamlText {
  const lineCounter = new LineCounter();
  const at = (offset: number): TextPosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseText(text, lineCounter);
  const problems = findMisuses(document).map(({ message, offset, isOfParser }) => {
    return { message, position: at(offset), isOfParser };
  });
  return {
    problems,
    value: problems.length > 0 ? undefined : document.toJS({ maxAliasCount: ALIASES_MAX }),
    positionOf: (path) => at(offsetOf(document, path)),
    textAt: (path) => cutOut(text, nodeAt(document, path)),
  };
}

/** As `parseDocument` does it, but with a bound of its nesting. */
function parseText(text: string, lineCounter: LineCounter): Document.Parsed {
  const composer = new Composer<ParsedNode>({
    // Keys that come twice are looked for below: here each would be compared with all others.
    uniqueKeys: false,
    stringKeys: true,
    merge: true,
  });
  lineCounter.addNewLine(0);
  const tokens = readTokens(text, new Parser(lineCounter.addNewLine));
  const [first, second] = composer.compose(tokens, true, text.length);
  if (second !== undefined) {
    const [start, end] = second.range;
    first.errors.push(new YAMLParseError([start, end], "MULTIPLE_DOCS", "several documents"));
  }
  return first;
}

/** A whole document is one token: it is made without recursion, and looked through with it. */
function* readTokens(text: string, parser: Parser) {
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > NESTING_MAX)
      throw new Error(`it is nested more than ${NESTING_MAX} levels deep`);
  }
  yield* parser.end();
}

function toUnreadable(message: string, isOfParser: boolean): YamlText {
  return {
    problems: [{ message, position: undefined, isOfParser }],
    value: undefined,
    positionOf: () => ({ line: 1, column: 1 }),
    textAt: () => undefined,
  };
}

interface Misuse {
  readonly message: string;
  readonly offset: number;
  readonly isOfParser: boolean;
}

/** What the parser says, in the order of the text; of what it has nothing to say of, what has no use. */
function findMisuses(document: Document): Misuse[] {
  const errors = [...document.errors, ...document.warnings];
  if (errors.length === 0) return findRepeatsAndAliases(document);
  return errors
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .map((error) => {
      const [offset] = error.pos;
      return error.code === "MULTIPLE_DOCS"
        ? { message: "the text holds several documents", offset, isOfParser: false }
        : { message: sayParserError(error), offset, isOfParser: true };
    });
}

/** The usual mistakes in plain words; the parser names them by terms of the specification. */
const PLAIN_WORDS: ReadonlyMap<string, string> = new Map([
  [
    "Nested mappings are not allowed in compact mappings",
    "a map in a map must start on the line after its key, indented further; check the indentation",
  ],
  [
    "Implicit keys need to be on a single line",
    "a key must be on one line with its colon; check for a missing colon, and the indentation",
  ],
  [
    "Sequence item without - indicator",
    "an item of a list must start with -; check the indentation",
  ],
]);

/** The parser names an option of its own where a key is not a string. */
function sayParserError(error: YAMLError): string {
  if (error.code === "NON_STRING_KEY") return "a key must be a string, not a list or a map";
  return PLAIN_WORDS.get(error.message) ?? toLine(error);
}

/** Keys that one map has twice, aliases of nothing, and more of them than the bound. */
function findRepeatsAndAliases(document: Document): Misuse[] {
  const found: Misuse[] = [];
  const report = (message: string, offset: number) =>
    void found.push({ message, offset, isOfParser: false });
  const anchors = new Set<string>();
  let aliasCount = 0;
  let anchoredCount = 0;
  visit(document, {
    Node: (_key, node) => {
      if (isMap(node)) findRepeats(node, report);
      if (isMap(node) && node.anchor !== undefined) anchoredCount += node.items.length;
      const offset = startOf(node) ?? 0;
      if (isAlias(node) && !anchors.has(node.source)) {
        report(`the alias *${node.source} has no anchor before it`, offset);
      }
      if (isAlias(node) || node.anchor !== undefined) aliasCount += 1;
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
      if (aliasCount <= ALIASES_MAX) return undefined;
      report(`more than ${ALIASES_MAX} anchors and aliases`, offset);
      return visit.BREAK;
    },
  });
  if (aliasCount * anchoredCount > MERGED_MAX) {
    const seen = `${aliasCount} anchors and aliases of ${anchoredCount} fields`;
    report(`${seen} may add up to more than ${MERGED_MAX}`, 0);
  }
  return found;
}

function findRepeats(map: YAMLMap, report: (message: string, offset: number) => void): void {
  const seen = new Set<string>();
  for (const { key } of map.items as Pair<Node, Node | null>[]) {
    const name = toKeyName(key);
    if (name === undefined || name === "<<") continue;
    if (seen.has(name)) report(`the key ${show(name)} occurs twice`, startOf(key) ?? 0);
    seen.add(name);
  }
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

function cutOut(text: string, node: unknown): string | undefined {
  const [start, , end] = (node as Node | null | undefined)?.range ?? [];
  if (start === undefined || end === undefined) return undefined;
  return text.slice(0, start).replace(/[^\n]/g, " ") + text.slice(start, end);
}

/** What an error says, on one line. */
function toLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}
