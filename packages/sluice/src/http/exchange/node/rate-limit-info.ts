// Where handlers find what was decided: `request.rateLimit`, or the name that the options give. Requests of
// Express inherit an accessor that reads it from the request's data: a property on each request would cost as
// much as the rest of the middleware (exchange/node/request-data.ts).

import { IncomingMessage } from "node:http";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import { dataOf, sharedBelow } from "./request-data.js";

/** The data of a request, by symbol. */
type RequestData = Record<symbol, unknown>;

/** A property of requests. */
export class InfoProperty {
  readonly #name: string;
  readonly #symbol: symbol;
  /** What the latest request inherits from, where the property is inherited. */
  #latestKind: unknown;

  constructor(name: string) {
    this.#name = name;
    this.#symbol = Symbol.for(`sluice.info.${name}`);
  }

  /** Shows handlers of a request what was decided. */
  set(request: object, info: RateLimitInfo): void {
    const kind: unknown = Object.getPrototypeOf(request);
    if (kind === this.#latestKind || this.#isInherited(request)) {
      (dataOf(request) as RequestData)[this.#symbol] = info;
      this.#latestKind = kind;
    } else {
      (request as Record<string, unknown>)[this.#name] = info;
    }
  }

  /** Whether requests of this kind inherit the property, which they do from now on if they can. */
  #isInherited(request: object): boolean {
    const shared = sharedBelow(request, IncomingMessage.prototype);
    if (shared === undefined || Object.hasOwn(request, this.#name)) return false;
    if (!(this.#name in shared))
      Object.defineProperty(shared, this.#name, toAccessor(this.#symbol));
    const known = Object.getOwnPropertyDescriptor(shared, this.#name)?.get;
    return known !== undefined && Object.hasOwn(known, this.#symbol);
  }
}

/** An accessor of one entry. The getter is marked with its symbol, since another library may define the same name. */
function toAccessor(symbol: symbol): PropertyDescriptor {
  function get(this: object): unknown {
    return (dataOf(this) as RequestData)[symbol];
  }
  return {
    get: Object.assign(get, { [symbol]: true }),
    set(this: object, value: unknown) {
      (dataOf(this) as RequestData)[symbol] = value;
    },
    configurable: true,
    enumerable: true,
  };
}
