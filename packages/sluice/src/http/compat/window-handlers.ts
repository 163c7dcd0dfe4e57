// Request handlers with fixed windows, as in express-rate-limit and @fastify/rate-limit: a number of requests in each
// window. If a function chooses the numbers for each request, each pair of numbers is a rule of its own: a caller
// under two of them has two counters, and neither clips what the other one counted.

import { UNITS_MAX } from "../../algorithms/numbers.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { show } from "../../base/errors.js";
import { type OptionSite, refuse } from "../../base/shapes/code-options.js";
import { fixedWindow } from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import { toRequestHandler } from "../handler/create-handler.js";
import type { RequestHandler } from "../handler/handler.js";
import type { RateLimitOptions } from "../handler/http-options.js";
import { toRuleId } from "../handler/rule-id.js";

/** The most requests in each window, and its length. */
export interface WindowSize {
  /** A whole number from 0, with which every request is refused. More than 2^51, or Infinity, is 2^51. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The options of a request handler without its limit. */
export type WindowHandlerOptions<Raw> = Omit<RateLimitOptions<Raw>, "limit">;

/** A limit holds at least one unit; to refuse every request, each costs two. */
const REFUSE_ALL = { cost: () => 2, headers: "none", legacyHeaders: false } as const;

/** A request handler with these numbers. The window of a key starts with its first request. */
export function toWindowHandler<Raw>(
  site: OptionSite,
  options: WindowHandlerOptions<Raw>,
  { limit: given, windowMs }: WindowSize,
): RequestHandler {
  const limit = toLimit(site, given);
  const window = fixedWindow({ limit: Math.max(1, limit), windowMs, align: "first" });
  return toRequestHandler(site, { ...options, ...(limit === 0 ? REFUSE_ALL : {}), limit: window });
}

/** In other limiters Infinity means "no limit": here it is the largest number that can be counted. */
function toLimit(site: OptionSite, limit: number): number {
  const isCount = Number.isInteger(limit) || limit === Number.POSITIVE_INFINITY;
  if (isCount && limit >= 0) return Math.min(limit, UNITS_MAX);
  refuse(site, `a limit must be a whole number from 0, got ${show(limit)}`);
}

/** How many request handlers are kept. Beyond that, the oldest is dropped and made again when it is needed. */
const HANDLERS_MAX = 1_000;

/** The request handlers of one limiter, made when their numbers are first asked for. */
export class WindowHandlers<Raw> {
  readonly #site: OptionSite;
  readonly #options: WindowHandlerOptions<Raw>;
  readonly #handlers = new BoundedMap<string, RequestHandler>(HANDLERS_MAX);

  constructor(site: OptionSite, options: WindowHandlerOptions<Raw>) {
    this.#site = site;
    // One store for all, so that a request handler that is made again finds its counters.
    this.#options = { ...options, store: options.store ?? memoryStore() };
  }

  /** The request handler of these numbers. Throws if they are not a valid limit. */
  of(size: WindowSize): RequestHandler {
    const limit = toLimit(this.#site, size.limit);
    const numbers = `${limit}-${size.windowMs}`;
    const known = this.#handlers.get(numbers);
    if (known !== undefined) return known;
    const name = toRuleId(`${this.#options.name ?? "default"}-${numbers}`);
    const requestHandler = toWindowHandler(this.#site, { ...this.#options, name }, size);
    this.#handlers.set(numbers, requestHandler);
    return requestHandler;
  }

  /** Those that are kept. */
  all(): RequestHandler[] {
    return [...this.#handlers].map(([, requestHandler]) => requestHandler);
  }

  /** Closes all request handlers. */
  async close(): Promise<void> {
    await Promise.all([...this.#handlers].map(([, requestHandler]) => requestHandler.close()));
  }
}
