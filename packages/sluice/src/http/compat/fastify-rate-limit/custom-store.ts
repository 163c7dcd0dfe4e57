// Limits over a store class that was written for @fastify/rate-limit. It counts and says how long a window
// lasts, so nothing of ours decides here: hits are compared with `max`, and answered as the original does.

import type { FastifyReply, FastifyRequest } from "fastify";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";
import { normalizeIP } from "../../exchange/fastify/client-address.js";
import type { CheckedState } from "./checked-state.js";
import type { FastifyLimitOptions } from "./fastify-options.js";
import { isBannedAfter, toThrown } from "./fastify-refusals.js";
import type { ForeignHits, ForeignStore, HitsCallback } from "./foreign-store.js";
import { numberFor, toHidden, toMax, toSubnet } from "./option-values.js";
import { toTimeWindow, toWindowMs } from "./time-window.js";

/** Options as such a store expects them: numbers are valid, and a window is in milliseconds. */
export function toForeignOptions(site: OptionSite, options: FastifyLimitOptions): object {
  const { max } = options;
  return {
    ...options,
    max: typeof max === "function" ? max : toMax(max),
    timeWindow: toTimeWindow(site, options.timeWindow),
  };
}

/** A limit over such a store. */
export class ForeignLimit {
  readonly #site: OptionSite;
  readonly #store: ForeignStore;
  readonly #options: FastifyLimitOptions;

  constructor(site: OptionSite, store: ForeignStore, options: FastifyLimitOptions) {
    this.#site = site;
    this.#store = store;
    this.#options = options;
    if (options.limit !== undefined)
      refuse(site, "a store class takes max and timeWindow, not limit");
  }

  /** Counts a request, or only reads how it stands. */
  async check(request: FastifyRequest, isRead: boolean): Promise<CheckedState> {
    const { keyGenerator, allowList, ipv6Subnet, groupId = "" } = this.#options;
    const found =
      keyGenerator === undefined
        ? normalizeIP(request.ip, toSubnet(ipv6Subnet))
        : await keyGenerator(request);
    // As the original: a number stays one, unless a group is added to it.
    const key = (groupId === "" ? found : `${found}${groupId}`) as string;
    const isFree =
      typeof allowList === "function" ? await allowList(request, key) : allowList?.includes(key);
    if (isFree) return { isAllowed: true, key };
    const max = toMax(await numberFor(this.#options.max ?? Number.NaN, request, key));
    const window = toTimeWindow(this.#site, this.#options.timeWindow);
    const timeWindow = toWindowMs(await numberFor(window, request, key));
    const { current, ttl } = await this.#count(isRead, key, timeWindow, max);
    return {
      isAllowed: false,
      key,
      max,
      timeWindow,
      remaining: Math.max(0, max - current),
      ttl,
      ttlInSeconds: Math.ceil(ttl / 1000),
      isExceeded: current > max,
      isBanned: isBannedAfter(this.#options.ban, current - max),
    };
  }

  /** Counts a request and writes its headers. If the request is refused, throws the error that Fastify responds with. */
  async apply(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const state = await this.check(request, false);
    if (state.isAllowed) return;
    const { onExceeding, onExceeded, onBanReach, addHeaders, addHeadersOnExceeding } =
      this.#options;
    const { isExceeded, isBanned, max, remaining, ttl, ttlInSeconds, key } = state;
    const prefix = this.#options.enableDraftSpec ? "ratelimit" : "x-ratelimit";
    const fields = { limit: max, remaining, reset: ttlInSeconds };
    const hidden = toHidden(isExceeded ? addHeaders : addHeadersOnExceeding);
    const show = (name: string, value: number) => {
      if (!hidden.has(name)) reply.header(name, value);
    };
    for (const [name, value] of Object.entries(fields)) show(`${prefix}-${name}`, value);
    if (!isExceeded) return void onExceeding?.(request, key as string);
    show("retry-after", ttlInSeconds);
    onExceeded?.(request, key as string);
    if (isBanned) onBanReach?.(request, key as string);
    throw await toThrown(this.#options, request, { max, ttlMs: ttl, isBanned });
  }

  async #count(isRead: boolean, key: string, windowMs: number, max: number): Promise<ForeignHits> {
    const store = this.#store;
    if (isRead && store.read === undefined) {
      refuse(
        this.#site,
        "the store does not implement a `read` method, which increment: false needs",
      );
    }
    try {
      return await new Promise((resolve, reject) => {
        const done: HitsCallback = (error, hits) =>
          error || hits === undefined ? reject(error) : resolve(hits);
        if (isRead) store.read?.(key, done, windowMs, max);
        else store.incr(key, done, windowMs, max);
      });
    } catch (error) {
      if (this.#options.skipOnError) return { current: 0, ttl: 0 };
      throw error;
    }
  }
}
