// Where handlers find what was decided: `request.rateLimit`, or the name that the options say. Requests of
// Express inherit it and have it in their notes: a property of their own would cost as much as all the
// rest of our work (adapters/node/request-notes.ts).

import { IncomingMessage } from "node:http";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import { notesOn, sharedBelow } from "../node/request-notes.js";

/** Notes on a request. */
type Notes = Record<symbol, unknown>;

/** A property of requests. */
export class InfoProperty {
  readonly #name: string;
  readonly #note: symbol;
  /** What the latest request inherits from, where the property is inherited. */
  #latestKind: unknown;

  constructor(name: string) {
    this.#name = name;
    this.#note = Symbol.for(`sluice.info.${name}`);
  }

  /** Shows handlers of a request what was decided. */
  set(request: object, info: RateLimitInfo): void {
    const kind: unknown = Object.getPrototypeOf(request);
    if (kind === this.#latestKind || this.#isInherited(request)) {
      (notesOn(request) as Notes)[this.#note] = info;
      this.#latestKind = kind;
    } else {
      (request as Record<string, unknown>)[this.#name] = info;
    }
  }

  /** Whether requests of this kind inherit the property, which they do from now on if they can. */
  #isInherited(request: object): boolean {
    const shared = sharedBelow(request, IncomingMessage.prototype);
    if (shared === undefined || Object.hasOwn(request, this.#name)) return false;
    if (!(this.#name in shared)) Object.defineProperty(shared, this.#name, toAccessor(this.#note));
    const known = Object.getOwnPropertyDescriptor(shared, this.#name)?.get;
    return known !== undefined && Object.hasOwn(known, this.#note);
  }
}

/** Reads and writes a note. The getter is marked with it: one of that name may be somebody else's. */
function toAccessor(note: symbol): PropertyDescriptor {
  function get(this: object): unknown {
    return (notesOn(this) as Notes)[note];
  }
  return {
    get: Object.assign(get, { [note]: true }),
    set(this: object, value: unknown) {
      (notesOn(this) as Notes)[note] = value;
    },
    configurable: true,
    enumerable: true,
  };
}
