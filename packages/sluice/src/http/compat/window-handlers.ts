// Request handlers to fixed windows, as express-rate-limit and @fastify/rate-limit have them: so many requests in
// each window. Where a function chooses the numbers for each request, each pair of numbers is a rule of
// its own: one caller under two of them has two counters, and neither clips what the other one counted.

import { UNITS_MAX } from "../../algorithms/numbers.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { show } from "../../base/errors.js";
import { type OptionSite, refuse } from "../../base/option-checks.js";
import { fixedWindow } from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { RequestHandler } from "../handler/handler.js";
import { type RateLimitOptions, toRequestHandler } from "../handler/http-options.js";
import { toRuleId } from "../handler/rule-id.js";

/** At most so many requests in each window. */
export interface WindowSize {
  /** A whole number from 0, with which every request is refused. More than 2^51, or Infinity, is 2^51. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Everything that a request handler is told, but the limit. */
export type WindowOptions<Raw> = Omit<RateLimitOptions<Raw>, "limit">;

/** A limit holds at least one unit; where 0 is asked for, each request costs two. */
const REFUSE_ALL = { cost: () => 2, headers: "none", legacyHeaders: false } as const;

/** A request handler with these numbers. The window of a key starts with its first request. */
export function toWindowHandler<Raw>(
  site: OptionSite,
  options: WindowOptions<Raw>,
  { limit: given, windowMs }: WindowSize,
): RequestHandler {
  const limit = toLimit(site, given);
  const window = fixedWindow({ limit: Math.max(1, limit), windowMs, align: "first" });
  return toRequestHandler(site, { ...options, ...(limit === 0 ? REFUSE_ALL : {}), limit: window });
}

/** Other limiters know Infinity as "no limit": more than can be counted is as many as can be. */
function toLimit(site: OptionSite, limit: number): number {
  const isCount = Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY;
  if (isCount && limit >= 0) return Math.min(limit, UNITS_MAX);
  refuse(site, `a limit must be a whole number from 0, got ${show(limit)}`);
}

/** So many pairs of numbers are kept ready; beyond it the one that was made first is made anew. */
const DOORS_MAX = 1_000;

/** The request handlers of one limiter, made when their numbers are first asked for. */
export class WindowHandlers<Raw> {
  readonly #site: OptionSite;
  readonly #options: WindowOptions<Raw>;
  readonly #requestHandlers = new BoundedMap<string, RequestHandler>(DOORS_MAX);

  constructor(site: OptionSite, options: WindowOptions<Raw>) {
    this.#site = site;
    // One store for all: a request handler that is made anew finds what it has counted.
    this.#options = { ...options, store: options.store ?? memoryStore() };
  }

  /** The request handler of these numbers. Throws if they are no limit. */
  of(size: WindowSize): RequestHandler {
    const limit = toLimit(this.#site, size.limit);
    const numbers = `${limit}-${size.windowMs}`;
    const known = this.#requestHandlers.get(numbers);
    if (known !== undefined) return known;
    const name = toRuleId(`${this.#options.name ?? "default"}-${numbers}`);
    const requestHandler = toWindowHandler(this.#site, { ...this.#options, name }, size);
    this.#requestHandlers.set(numbers, requestHandler);
    return requestHandler;
  }

  /** Those that were asked for lately. */
  all(): RequestHandler[] {
    return [...this.#requestHandlers].map(([, requestHandler]) => requestHandler);
  }

  /** Lets go of all request handlers. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#requestHandlers].map(([, requestHandler]) => requestHandler.close()),
    );
  }
}
