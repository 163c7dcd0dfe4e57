// All limits of one Fastify application: that of the plugin, and those that routes have in their
// `config.rateLimit`. They share a store, and each has its own counters.

import type { FastifyRequest, RouteOptions } from "fastify";
import { show } from "../../errors.js";
import { type OptionSite, refuse, whole } from "../../options.js";
import { memoryStore } from "../../stores/memory/store.js";
import type { Store } from "../../stores/store.js";
import { toRuleId } from "../rule-id.js";
import { type FastifyLimit, toFastifyLimit } from "./limit.js";
import type { FastifyHook, FastifyLimitOptions, FastifyOptions } from "./options.js";

const ROUTE = "fastify.context";
const CACHE = { min: 1, max: 100_000_000 };

/** The limits of an application. */
export class FastifyLimits {
  /** Of routes that say nothing of their own. */
  readonly base: FastifyLimit;
  readonly #isGlobal: boolean;
  readonly #site: OptionSite;
  /** What routes start from; undefined over a policy, whose rules say it all. */
  readonly #options: (FastifyLimitOptions & { store: Store; name: string }) | undefined;
  /** By the object in `config.rateLimit`, as long as the route that has it lives. */
  readonly #byConfig = new WeakMap<object, { limit: FastifyLimit; runsIn: FastifyHook }>();
  /** By what Fastify keeps of a route. */
  readonly #byRoute = new WeakMap<object, { readonly limit: FastifyLimit | undefined }>();
  readonly #made: FastifyLimit[] = [];

  /** Limits of these options; those of a policy have only one, and it is given. */
  constructor(site: OptionSite, options: FastifyOptions | { base: FastifyLimit }) {
    this.#site = site;
    if ("base" in options) {
      this.base = options.base;
      this.#isGlobal = true;
    } else {
      const { global: isGlobal = true, nameSpace, cache, ...own } = options;
      const name = own.name ?? nameSpace ?? "default";
      this.#options = { ...own, name, store: toStore(site, own.store, cache) };
      this.#isGlobal = isGlobal;
      this.base = toFastifyLimit(site, this.#options);
    }
    this.#made.push(this.base);
  }

  /** Makes the limit of a route, if it has one of its own. Returns it if another hook has to run it. */
  addRoute(route: RouteOptions): FastifyLimit | undefined {
    const own = route.config?.rateLimit;
    if (own === undefined || own === false) return undefined;
    if (typeof own !== "object" || own === null) {
      refuse(this.#site, `config.rateLimit must be false or options, got ${show(own)}`);
    }
    const known = this.#byConfig.get(own);
    const limit = known?.limit ?? this.#make(own, `${String(route.method)} ${route.url}`);
    if (known === undefined) this.#byConfig.set(own, { limit, runsIn: limit.hook });
    return limit.hook === this.base.hook ? undefined : limit;
  }

  /** The limit that a hook has to apply; undefined if none has. */
  of(request: FastifyRequest): FastifyLimit | undefined {
    const route = routeOf(request);
    if (route === undefined) return this.#find(request);
    const known = this.#byRoute.get(route);
    if (known !== undefined) return known.limit;
    const limit = this.#find(request);
    this.#byRoute.set(route, { limit });
    return limit;
  }

  #find(request: FastifyRequest): FastifyLimit | undefined {
    const { config, method, url } = request.routeOptions;
    const own = config?.rateLimit;
    if (own === undefined) return this.#isGlobal ? this.base : undefined;
    if (own === false) return undefined;
    const known = this.#byConfig.get(own);
    if (known !== undefined) return known.runsIn === this.base.hook ? known.limit : undefined;
    // A route from before the plugin was loaded: it is limited all the same.
    const limit = this.#make(own, `${String(method)} ${url}`);
    this.#byConfig.set(own, { limit, runsIn: this.base.hook });
    return limit;
  }

  /** A limit that a hook of the user applies. */
  alone(options: FastifyLimitOptions, place: string): FastifyLimit {
    return this.#make(options, place);
  }

  async close(): Promise<void> {
    await Promise.all(this.#made.map((limit) => limit.close()));
  }

  #make(own: FastifyLimitOptions, place: string): FastifyLimit {
    const base = this.#options;
    if (base === undefined) {
      refuse(this.#site, `${place} has limits of its own beside a policy: its rules say them`);
    }
    const group = own.groupId ?? place;
    const name = own.name ?? toRuleId(`${base.name}-${group}`);
    const limit = toFastifyLimit(this.#site, { ...inherited(base, own), ...own, name });
    this.#made.push(limit);
    return limit;
  }
}

/** Found on the first request; null if this Fastify keeps its routes elsewhere. */
let routeSymbol: symbol | null | undefined;

/**
 * What Fastify keeps of the route of a request, the same for all of its requests; undefined if that can't be
 * found. `routeOptions` makes an object of twelve fields each time (bench http/fastify).
 */
function routeOf(request: FastifyRequest): object | undefined {
  if (routeSymbol === undefined) {
    const own = Object.getOwnPropertySymbols(request);
    routeSymbol = own.find(({ description }) => description === ROUTE) ?? null;
  }
  if (routeSymbol === null) return undefined;
  return (request as unknown as Record<symbol, object | undefined>)[routeSymbol];
}

/** What a route takes over: all but the limit, if it has another one. */
function inherited(
  { limit, max, timeWindow, ban, ...rest }: FastifyLimitOptions & { store: Store; name: string },
  own: FastifyLimitOptions,
) {
  if (own.limit !== undefined) return rest;
  const window = {
    ...rest,
    ...(max && { max }),
    ...(timeWindow && { timeWindow }),
    ...(ban && { ban }),
  };
  const isWindow = own.max !== undefined || own.timeWindow !== undefined;
  return isWindow || limit === undefined ? window : { ...rest, limit };
}

function toStore(site: OptionSite, store: Store | undefined, cache: number | undefined): Store {
  if (typeof store === "function") {
    refuse(site, "store is a class of @fastify/rate-limit; pass memoryStore() or redisStore(…)");
  }
  if (cache === undefined) return store ?? memoryStore();
  if (store !== undefined) refuse(site, "takes store or cache, not both");
  return memoryStore({ keysMax: whole(site, "cache", cache, CACHE) });
}
