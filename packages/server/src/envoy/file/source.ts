// A file of envoyproxy/ratelimit as YAML, read the way that service reads it: version 1.1, strings as they
// are written. Values keep their lines, and all problems of a file are reported together.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
} from "yaml";
import { show } from "../../base/errors.js";

/** The longest file, in characters. */
export const TEXT_LENGTH_MAX: number = 8 * 1024 * 1024;
/** Maps that merge others, which merge others: so deep. */
const MERGES_MAX = 16;

/** Problems that envoyproxy/ratelimit tolerates, and how it reads them. */
const TOLERATED: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "this key occurs twice; the last one counts",
  MULTIPLE_DOCS:
    "only the first document of a file is read; this one and those after it are ignored",
};

/** A value in a file, or undefined where nothing is written. */
export type YamlValue = Node | undefined;

/** A field of a map: where its name stands, and what it says. */
export interface YamlField {
  readonly name: string;
  readonly at: YamlValue;
  readonly value: YamlValue;
}

/** One file, and what is wrong with it. */
export class YamlSource {
  readonly file: string;
  readonly problems: string[] = [];
  /** What is there and has no effect. */
  readonly warnings: string[] = [];
  readonly #lines = new LineCounter();
  readonly #document: Document;
  // Finding what an alias stands for looks at the whole file.
  readonly #followed = new Map<Node, Node>();

  /** @param text - What the file holds. */
  constructor(file: string, text: string) {
    this.file = file;
    const isTooLong = text.length > TEXT_LENGTH_MAX;
    if (isTooLong) this.problems.push(`${file}: more than ${TEXT_LENGTH_MAX} characters`);
    this.#document = parseDocument(isTooLong ? "" : text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      version: "1.1",
      merge: true,
    });
    for (const { code, pos, message } of this.#document.errors) {
      const tolerated = TOLERATED[code];
      const list = tolerated === undefined ? this.problems : this.warnings;
      list.push(`${file}:${this.#lineAt(pos[0])}: ${tolerated ?? toLine(message)}`);
    }
  }

  /** The whole file; undefined if it is empty or no YAML. */
  get root(): YamlValue {
    return this.problems.length > 0 ? undefined : this.follow(this.#document.contents);
  }

  /** `ratelimit.yaml:14`. */
  placeOf(node: YamlValue): string {
    return `${this.file}:${this.#lineAt(node?.range?.[0] ?? 0)}`;
  }

  /** Notes a problem, and returns undefined in place of what can't be used. */
  say(node: YamlValue, problem: string): undefined {
    this.problems.push(`${this.placeOf(node)}: ${problem}`);
    return undefined;
  }

  /** Notes what has no effect. */
  warn(node: YamlValue, text: string): void {
    this.warnings.push(`${this.placeOf(node)}: ${text}`);
  }

  /** The fields of a map, the last one of each name, those of maps that it merges included; of nothing, none. */
  fields(node: YamlValue, what: string, depth = 0): readonly YamlField[] {
    if (isNothing(node)) return [];
    if (!isMap(node)) return this.say(node, `${what} must be a map, got ${describe(node)}`) ?? [];
    if (depth > MERGES_MAX) return this.say(node, `more than ${MERGES_MAX} merged maps`) ?? [];
    const own = new Map<string, YamlField>();
    const merged: YamlField[] = [];
    for (const pair of node.items) {
      const at = pair.key as YamlValue;
      const name = this.text(at, `a key of ${what}`);
      const value = this.follow(pair.value);
      if (name !== "<<") own.set(name, { name, at, value });
      else for (const map of this.#merged(value)) merged.push(...this.fields(map, what, depth + 1));
    }
    const known = new Set(own.keys());
    return [...own.values(), ...merged.filter(({ name }) => !known.has(name) && known.add(name))];
  }

  #merged(value: YamlValue): readonly YamlValue[] {
    return isSeq(value) ? value.items.map((item) => this.follow(item)) : [value];
  }

  /** The values of a list; of nothing, none. */
  items(node: YamlValue, what: string): readonly YamlValue[] {
    if (isNothing(node)) return [];
    if (isSeq(node)) return node.items.map((item) => this.follow(item));
    return this.say(node, `${what} must be a list, got ${describe(node)}`) ?? [];
  }

  /** A string as it is written, whatever YAML would make of it: `404` is "404", nothing is "". */
  text(node: YamlValue, what: string): string {
    if (isNothing(node)) return "";
    if (!isScalar(node))
      return this.say(node, `${what} must be a string, got ${describe(node)}`) ?? "";
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  }

  /** A truth, by any of its names in YAML 1.1; nothing is false. */
  truth(node: YamlValue, what: string): boolean {
    if (isNothing(node)) return false;
    if (isScalar(node) && typeof node.value === "boolean") return node.value;
    return this.say(node, `${what} must be true or false, got ${describe(node)}`) ?? false;
  }

  /** A whole number from 0 to `max`; nothing is 0. */
  whole(node: YamlValue, what: string, max: number): number {
    if (isNothing(node)) return 0;
    const value = isScalar(node) ? node.value : undefined;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max) {
      return value as number;
    }
    const seen = describe(node);
    return this.say(node, `${what} must be a whole number from 0 to ${max}, got ${seen}`) ?? 0;
  }

  /** The plain value; undefined if there is none. */
  plain(node: YamlValue): unknown {
    try {
      return node?.toJS(this.#document);
    } catch (error) {
      // Aliases of nothing, and those that add up to too much.
      return this.say(node, toLine(String(error)));
    }
  }

  /** What an alias stands for. */
  follow(node: unknown): YamlValue {
    if (!isAlias(node)) return node as YamlValue;
    const known = this.#followed.get(node);
    if (known !== undefined) return known;
    const found = node.resolve(this.#document);
    if (found === undefined) {
      return this.say(node, `the alias *${node.source} has no anchor before it`);
    }
    this.#followed.set(node, found);
    return found;
  }

  #lineAt(offset: number): number {
    return Math.max(1, this.#lines.linePos(offset).line);
  }
}

/** Whether nothing is written, or null. */
export function isNothing(node: YamlValue): boolean {
  return node === undefined || node === null || (isScalar(node) && node.value === null);
}

function describe(node: YamlValue): string {
  if (isMap(node)) return "a map";
  if (isSeq(node)) return "a list";
  return isScalar(node) ? show(node.value) : "nothing";
}

function toLine(message: string): string {
  return message.replaceAll(/\s+/g, " ");
}
