// Reads what a response's body says about the cost of its request while the body passes through: a JSON body, or a stream
// of server-sent events or of lines of JSON, whose last numbers count. The body itself is neither changed nor kept.

import type { BodyReading, UnreadableBody } from "../../rules/policy/held-charges/request-end.js";
import type { JsonPath, JsonSum } from "../../rules/rule.js";
import { type HeaderValue, isEncoded, isJsonType, toUtf8Type } from "../identity/body/body.js";
import { ByteOrderMark } from "./byte-order-mark.js";
import { EventScanner } from "./event-scanner.js";
import { EventSearch } from "./event-search.js";
import { JsonScanner } from "./json-scanner.js";
import { isLineType, LineScanner } from "./line-scanner.js";
import { type PathTree, toPathTree } from "./path-tree.js";

/** The headers of a response that say how its body is to be read. */
export interface BodyHeaders {
  readonly contentType: HeaderValue;
  readonly contentEncoding: HeaderValue;
}

/** Most requests are settled by the sum of one rule, whose tree is made once. */
const trees = new WeakMap<JsonSum, PathTree>();

function treeOf(sums: readonly JsonSum[]): PathTree {
  if (sums.length > 1) return toPathTree(sums);
  const [sum] = sums;
  const tree = trees.get(sum) ?? toPathTree(sums);
  trees.set(sum, tree);
  return tree;
}

/** What reads a body of one form. */
interface BodyReader {
  read(bytes: Uint8Array, from: number, to: number): void;
  /** The body has ended. */
  end(): void;
}

/** Reads one body. */
export class BodyMeter implements BodyReading {
  readonly #tree: PathTree;
  /** Undefined if the body can't be read. */
  readonly #reader: BodyReader | undefined;
  /** The last number at each path that can be a number of units. */
  readonly #last: (number | undefined)[];
  #isComplete = false;
  #problem: UnreadableBody | undefined;

  /** @param sums - What is looked for. */
  constructor(sums: readonly JsonSum[], { contentType, contentEncoding }: BodyHeaders) {
    this.#tree = treeOf(sums);
    this.#last = new Array(this.#tree.count).fill(undefined);
    const type = toUtf8Type(contentType);
    if (isEncoded(contentEncoding)) this.#problem = "encoding";
    else if (type === "text/event-stream") this.#reader = this.#toEventReader();
    else if (type !== undefined && isLineType(type)) this.#reader = this.#toLineReader();
    else if (type !== undefined && isJsonType(type)) this.#reader = this.#toJsonReader();
    else this.#problem = "type";
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  get problem(): UnreadableBody | undefined {
    return this.#problem;
  }

  numberAt(path: JsonPath): number | undefined {
    const place = this.#tree.places.get(path.join("."));
    return place === undefined ? undefined : this.#last[place];
  }

  /** Reads the bytes from `from` up to `to`; default: all of them. They are not kept. */
  read(bytes: Uint8Array, from = 0, to: number = bytes.length): void {
    if (this.#reader !== undefined && from < to) this.#reader.read(bytes, from, to);
  }

  /** The body has ended as it should. */
  end(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#reader?.end();
  }

  #toJsonReader(): BodyReader {
    const json = new JsonScanner(this.#tree);
    const mark = new ByteOrderMark();
    let isEmpty = true;
    return {
      read: (bytes, from, to) => {
        isEmpty = false;
        const start = mark.isPast ? from : mark.read(bytes, from, to);
        if (!mark.isBroken) json.read(bytes, start, to);
      },
      end: () => {
        // That of a HEAD request says nothing, and is not malformed.
        if (isEmpty) return;
        if (mark.isBroken || !json.isWhole()) this.#problem ??= "malformed";
        this.#take(json);
      },
    };
  }

  #toEventReader(): BodyReader {
    const json = new JsonScanner(this.#tree);
    const events = new EventScanner(json, () => {
      this.#take(json);
      json.reset();
    });
    const { searches } = this.#tree;
    const reader = searches === undefined ? events : new EventSearch(events, searches);
    return {
      read: (bytes, from, to) => void reader.read(bytes, from, to),
      end: () => events.end(),
    };
  }

  #toLineReader(): BodyReader {
    const json = new JsonScanner(this.#tree);
    return new LineScanner(json, () => {
      this.#take(json);
      json.reset();
    });
  }

  /** Takes over what a whole document says. Numbers that can't be units say nothing. */
  #take(json: JsonScanner): void {
    if (json.isTooDeep) this.#problem = "too-deep";
    if (!json.isWhole()) return;
    for (let i = 0; i < this.#last.length; i++) {
      const found = json.found[i];
      if (found !== undefined && Number.isSafeInteger(found) && found >= 0) this.#last[i] = found;
    }
  }
}
