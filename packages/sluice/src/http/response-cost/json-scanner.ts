// Finds numbers in JSON that arrives in pieces, without keeping it: one pass over the bytes, in memory that does not
// depend on their number. Reads what `JSON.parse` reads and refuses what it refuses: of a name that an object has twice
// the last counts, and names may be written with escapes.

import { isAt } from "./byte-search.js";
import { JsonNumber } from "./json-number.js";
import type { PathNode, PathTree } from "./path-tree.js";

/** Objects and lists inside one another. JSON that is nested more deeply is not read. */
export const DEPTH_MAX = 512;

// What the scanner expects next.
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
const AFTER = 5;
const STRING = 6;
const ESCAPE = 7;
const UNICODE = 8;
const NUMBER = 9;
const LITERAL = 10;
const BROKEN = 11;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const IS_LIST = 0;
const IS_OBJECT = 1;

/** Scans one document after another. */
export class JsonScanner {
  readonly #tree: PathTree;
  /** The numbers of the document so far, by the places of their paths. */
  readonly found: (number | undefined)[];
  /** Which objects and lists are open, the innermost last; what is behind them is of no account. */
  readonly #containers: number[] = [];
  /** Made for the first name that does not arrive in one piece. */
  #name: Uint8Array | undefined = undefined;
  readonly #number = new JsonNumber();
  #nameLength = 0;
  #hasEscape = false;
  /** Whether the string is a name that may be on a path. */
  #isNameKept = false;
  /** Whether the string is a name, and not a value. */
  #isName = false;
  #state = VALUE;
  #depth = 0;
  /** The objects that are open and on a path are the outermost this many. */
  #matched = 0;
  /** The nodes of these objects, the innermost last; what is behind them is of no account. */
  readonly #nodes: PathNode[] = [];
  /** The node of the name whose value comes next. */
  #child: PathNode | undefined = undefined;
  #literal = "";
  /** Characters of a literal, or digits of an escape, that are still to come. */
  #left = 0;
  #isTooDeep = false;

  constructor(tree: PathTree) {
    this.#tree = tree;
    this.found = new Array(tree.count).fill(undefined);
  }

  /** Whether the document was nested too deeply. */
  get isTooDeep(): boolean {
    return this.#isTooDeep;
  }

  /** Begins with another document. */
  reset(): void {
    this.found.fill(undefined);
    this.#state = VALUE;
    this.#depth = 0;
    this.#matched = 0;
    this.#child = undefined;
    this.#isTooDeep = false;
  }

  /** Whether what was read is a whole document. */
  isWhole(): boolean {
    if (this.#state === NUMBER && this.#depth === 0) this.#endNumber();
    return this.#state === AFTER && this.#depth === 0;
  }

  /** Reads the bytes from `from` up to `to`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    let i = from;
    while (i < to) {
      switch (this.#state) {
        case STRING:
          i = this.#readString(bytes, i, to);
          break;
        case NUMBER:
          i = this.#readNumber(bytes, i, to);
          break;
        case ESCAPE:
          if (this.#isNameKept) this.#keepName(bytes, i, i + 1);
          this.#readEscape(bytes[i++]);
          break;
        case UNICODE:
          if (this.#isNameKept) this.#keepName(bytes, i, i + 1);
          this.#readDigit(bytes[i++]);
          break;
        case LITERAL:
          this.#readLiteral(bytes[i++]);
          break;
        case BROKEN:
          return;
        default:
          this.#readStructure(bytes[i++]);
      }
    }
  }

  #readStructure(byte: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return;
    switch (this.#state) {
      case FIRST_ITEM:
        if (byte === CLOSE_LIST) this.#close(IS_LIST);
        else this.#beginValue(byte);
        break;
      case VALUE:
        this.#beginValue(byte);
        break;
      case FIRST_KEY:
        if (byte === CLOSE_OBJECT) this.#close(IS_OBJECT);
        else this.#beginName(byte);
        break;
      case KEY:
        this.#beginName(byte);
        break;
      case COLON:
        this.#state = byte === 0x3a ? VALUE : BROKEN;
        break;
      default:
        this.#readAfter(byte);
    }
  }

  #readAfter(byte: number): void {
    if (this.#depth === 0) this.#state = BROKEN;
    else if (byte === CLOSE_LIST) this.#close(IS_LIST);
    else if (byte === CLOSE_OBJECT) this.#close(IS_OBJECT);
    else if (byte !== COMMA) this.#state = BROKEN;
    else this.#state = this.#containers[this.#depth - 1] === IS_OBJECT ? KEY : VALUE;
  }

  #beginValue(byte: number): void {
    if (byte === QUOTE) this.#beginString(false, false);
    else if (byte === OPEN_OBJECT) this.#open(IS_OBJECT);
    else if (byte === OPEN_LIST) this.#open(IS_LIST);
    else if (byte === 0x74) this.#beginLiteral("true");
    else if (byte === 0x66) this.#beginLiteral("false");
    else if (byte === 0x6e) this.#beginLiteral("null");
    else this.#beginNumber(byte);
  }

  #beginString(isName: boolean, isKept: boolean): void {
    this.#state = STRING;
    this.#isName = isName;
    this.#isNameKept = isKept;
    this.#nameLength = 0;
    this.#hasEscape = false;
  }

  #beginName(byte: number): void {
    if (byte === QUOTE) this.#beginString(true, this.#matched === this.#depth);
    else this.#state = BROKEN;
  }

  #beginLiteral(literal: string): void {
    this.#state = LITERAL;
    this.#literal = literal;
    this.#left = literal.length - 1;
  }

  #beginNumber(byte: number): void {
    const isKept = this.#child !== undefined && this.#child.place >= 0;
    this.#state = this.#number.begin(byte, isKept) ? NUMBER : BROKEN;
  }

  #open(kind: number): void {
    if (this.#depth === DEPTH_MAX) {
      this.#isTooDeep = true;
      this.#state = BROKEN;
      return;
    }
    const node = this.#depth === 0 ? this.#tree.root : this.#child;
    this.#child = undefined;
    this.#containers[this.#depth++] = kind;
    this.#state = kind === IS_OBJECT ? FIRST_KEY : FIRST_ITEM;
    if (kind === IS_LIST || node === undefined) return;
    this.#nodes[this.#matched] = node;
    this.#matched = this.#depth;
  }

  #close(kind: number): void {
    if (this.#containers[this.#depth - 1] !== kind) {
      this.#state = BROKEN;
      return;
    }
    if (this.#matched === this.#depth) this.#matched--;
    this.#depth--;
    this.#state = AFTER;
  }

  #readString(bytes: Uint8Array, from: number, to: number): number {
    let i = from;
    let byte = 0;
    while (i < to) {
      byte = bytes[i];
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
      i++;
    }
    if (i < to && byte === QUOTE) {
      this.#endString(bytes, from, i);
      return i + 1;
    }
    if (this.#isNameKept) this.#keepName(bytes, from, i);
    if (i === to) return i;
    if (byte === BACKSLASH) {
      this.#state = ESCAPE;
      this.#hasEscape = true;
      if (this.#isNameKept) this.#keepName(bytes, i, i + 1);
    } else this.#state = BROKEN;
    return i + 1;
  }

  /** A name that is longer than any of the paths is not on one. */
  #keepName(bytes: Uint8Array, from: number, to: number): void {
    this.#name ??= new Uint8Array(this.#tree.nameBytesMax);
    const name = this.#name;
    if (this.#nameLength + to - from > name.length) this.#isNameKept = false;
    else for (let i = from; i < to; i++) name[this.#nameLength++] = bytes[i];
  }

  #readEscape(byte: number): void {
    if (byte === 0x75) {
      this.#state = UNICODE;
      this.#left = 4;
    } else this.#state = isEscape(byte) ? STRING : BROKEN;
  }

  #readDigit(byte: number): void {
    this.#left--;
    if (!isHexDigit(byte)) this.#state = BROKEN;
    else if (this.#left === 0) this.#state = STRING;
  }

  /** A string ends with the bytes from `from` up to `to`. */
  #endString(bytes: Uint8Array, from: number, to: number): void {
    if (!this.#isName) {
      this.#child = undefined;
      this.#state = AFTER;
      return;
    }
    this.#state = COLON;
    this.#child = this.#isNameKept ? this.#findNamed(bytes, from, to) : undefined;
    // Of a name that an object has twice the last counts, with all that is below it.
    if (this.#child !== undefined) this.found.fill(undefined, this.#child.from, this.#child.to);
  }

  #findNamed(bytes: Uint8Array, from: number, to: number): PathNode | undefined {
    const { children } = this.#nodes[this.#matched - 1];
    // Most names arrive in one piece, and are compared where they are.
    if (this.#nameLength === 0) return findBytes(children, bytes, from, to);
    this.#keepName(bytes, from, to);
    if (!this.#isNameKept || this.#name === undefined) return undefined;
    if (!this.#hasEscape) return findBytes(children, this.#name, 0, this.#nameLength);
    const written = new TextDecoder().decode(this.#name.subarray(0, this.#nameLength));
    const text: unknown = JSON.parse(`"${written}"`);
    return children.find((child) => child.text === text);
  }

  #readNumber(bytes: Uint8Array, from: number, to: number): number {
    const i = this.#number.read(bytes, from, to);
    if (i < to) this.#endNumber();
    return i;
  }

  #endNumber(): void {
    const child = this.#child;
    this.#child = undefined;
    this.#state = this.#number.isWhole ? AFTER : BROKEN;
    if (child !== undefined && child.place >= 0) this.found[child.place] = this.#number.value;
  }

  #readLiteral(byte: number): void {
    const { length } = this.#literal;
    if (byte !== this.#literal.charCodeAt(length - this.#left)) {
      this.#state = BROKEN;
      return;
    }
    this.#left--;
    if (this.#left > 0) return;
    this.#child = undefined;
    this.#state = AFTER;
  }
}

function findBytes(
  nodes: readonly PathNode[],
  bytes: Uint8Array,
  from: number,
  to: number,
): PathNode | undefined {
  for (let i = 0; i < nodes.length; i++) {
    const { name } = nodes[i];
    if (name.length === to - from && isAt(name, bytes, from)) return nodes[i];
  }
  return undefined;
}

/** Whether the byte after a backslash stands for a character: one of `"\/bfnrt`. */
function isEscape(byte: number): boolean {
  return '"\\/bfnrt'.includes(String.fromCharCode(byte));
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}
