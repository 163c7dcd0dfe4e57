// All limits of one Fastify application: that of the plugin, and those that routes have in their
// `config.rateLimit`. They share a store, and each has its own counters.

import type { FastifyRequest, RouteOptions } from "fastify";
import { show } from "../../../base/errors.js";
import { type OptionSite, readOptions, refuse } from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import type { Store } from "../../../stores/store.js";
import { toRuleId } from "../../handler/rule-id.js";
import { toForeignOptions } from "./custom-store.js";
import type {
  FastifyLimitOptions,
  FastifyOptions,
  FastifyPolicyOptions,
} from "./fastify-options.js";
import { HOOKS, PLUGIN_OPTIONS } from "./fastify-shapes.js";
import type { ForeignStore } from "./foreign-store.js";
import { type FastifyLimit, toFastifyLimit, toForeignLimit, toPolicyLimit } from "./route-limit.js";

/** The name of hooks that `app.rateLimit()` makes. */
export const HOOK_NAME = "sluiceRateLimit";

const ROUTE = "fastify.context";
/** Stands for a store where a store class of @fastify/rate-limit counts. */
const NO_STORE = {} as Store;

/** The limits of an application. */
export class FastifyLimits {
  /** The limit of routes that have none of their own. */
  readonly base: FastifyLimit;
  readonly #isGlobal: boolean;
  readonly #site: OptionSite;
  /** What routes start from; undefined over a policy, whose rules have all limits. */
  readonly #options: (FastifyLimitOptions & { store: Store; name: string }) | undefined;
  /** Marks the config of routes that have a hook of their own: they need none of the application's. */
  readonly #hooked = Symbol("sluice.hooked");
  /** By what Fastify keeps of a route. */
  readonly #byRoute = new WeakMap<object, { readonly limit: FastifyLimit | undefined }>();
  readonly #foreign: ForeignStore | undefined;
  readonly #made: FastifyLimit[] = [];

  /** Limits of these options; those of a policy have only one, and it is given. */
  constructor(site: OptionSite, options: FastifyOptions | { base: FastifyLimit }) {
    this.#site = site;
    if ("base" in options) {
      this.base = options.base;
      this.#isGlobal = true;
    } else {
      const { global: isGlobal, nameSpace, cache } = readOptions(site, PLUGIN_OPTIONS, options);
      const { global: _global, nameSpace: _nameSpace, cache: _cache, ...own } = options;
      const name = own.name ?? (nameSpace === undefined ? "default" : toRuleId(nameSpace));
      const { store, ...rest } = own;
      this.#isGlobal = isGlobal;
      if (typeof store === "function") {
        this.#foreign = new store(toForeignOptions(site, rest));
        this.#options = { ...rest, name, store: NO_STORE };
        this.base = toForeignLimit(site, this.#foreign, rest);
      } else {
        this.#options = { ...rest, name, store: toStore(site, store, cache) };
        this.base = toFastifyLimit(site, this.#options);
      }
    }
    this.#made.push(this.base);
  }

  /** The limit of a route that is being added, and is to apply it in a hook of its own; undefined if it has none. */
  addRoute(route: RouteOptions): FastifyLimit | undefined {
    const own = route.config?.rateLimit;
    // A copy: one object may be the config of several routes.
    route.config = { ...route.config, [this.#hooked]: true };
    return this.#ofRoute(own, nameOf(route), route);
  }

  /**
   * The limit that the application's hook has to apply: of requests without a route, and of routes from
   * before the plugin was loaded. Undefined if it has none to apply.
   */
  of(request: FastifyRequest): FastifyLimit | undefined {
    const route = routeOf(request);
    // Nearly every request: two reads are all that the application's hook costs it (bench http/fastify).
    if (route?.config?.[this.#hooked] === true) return undefined;
    const known = route === undefined ? undefined : this.#byRoute.get(route);
    if (known !== undefined) return known.limit;
    const limit = this.#find(request, route);
    if (route !== undefined) this.#byRoute.set(route, { limit });
    return limit;
  }

  #find(request: FastifyRequest, route: Route | undefined): FastifyLimit | undefined {
    const { config, method, url } = request.routeOptions;
    if (config !== undefined && this.#hooked in config) return undefined;
    if (request.is404 && route !== undefined && hasHook(route)) return undefined;
    return this.#ofRoute(config?.rateLimit, `${String(method)} ${url}`);
  }

  #ofRoute(
    own: FastifyLimitOptions | false | undefined,
    place: string,
    routeInfo?: object,
  ): FastifyLimit | undefined {
    if (own === undefined || own === null) return this.#isGlobal ? this.base : undefined;
    if (own === false) return undefined;
    if (typeof own !== "object") {
      refuse(this.#site, `config.rateLimit must be false or options, got ${show(own)}`);
    }
    return this.#make(own, place, routeInfo);
  }

  /** A limit that a hook of the user applies. */
  alone(options: FastifyLimitOptions, place: string): FastifyLimit {
    return this.#make(options, place);
  }

  async close(): Promise<void> {
    await Promise.all(this.#made.map((limit) => limit.close()));
  }

  #make(own: FastifyLimitOptions, place: string, routeInfo: object = {}): FastifyLimit {
    const base = this.#options;
    if (base === undefined) {
      refuse(this.#site, `${place} has limits of its own beside a policy: its rules say them`);
    }
    const group = own.groupId ?? place;
    const name = own.name ?? toRuleId(`${base.name}-${group}`);
    const options = { ...inherited(base, own), ...own, name };
    const limit =
      this.#foreign === undefined
        ? toFastifyLimit(this.#site, options)
        : toForeignLimit(
            this.#site,
            this.#foreign.child({ ...toForeignOptions(this.#site, options), routeInfo }),
            options,
          );
    this.#made.push(limit);
    return limit;
  }
}

/** The limits of a plugin, from its arguments: a policy and options, or options alone. */
export function toFastifyLimits(site: OptionSite, first: unknown, second: unknown): FastifyLimits {
  if (first instanceof Policy) {
    const base = toPolicyLimit(site, first, (second ?? {}) as FastifyPolicyOptions);
    return new FastifyLimits(site, { base });
  }
  if (second !== undefined) refuse(site, `takes options alone; got ${show(second)} besides them`);
  if (typeof first !== "object" || first === null) {
    refuse(site, `needs a policy or an object of options, got ${show(first)}`);
  }
  return new FastifyLimits(site, first);
}

/** Routes that differ by their constraints alone count apart. */
function nameOf({ method, url, constraints }: RouteOptions): string {
  const place = `${String(method)} ${url}`;
  return constraints === undefined ? place : `${place} ${JSON.stringify(constraints)}`;
}

/** Fastify binds hooks, which keeps their names. */
function hasHook(route: object): boolean {
  return HOOKS.some((name) => {
    const hooks = (route as Record<string, unknown>)[name];
    return Array.isArray(hooks) && hooks.some((hook) => hook.name.endsWith(HOOK_NAME));
  });
}

/** What Fastify keeps of a route, as far as it is read here. */
interface Route {
  readonly config?: Readonly<Record<symbol, unknown>>;
}

/** Found on the first request; null if this Fastify keeps its routes elsewhere. */
let routeSymbol: symbol | null | undefined;

/**
 * What Fastify keeps of the route of a request, the same for all of its requests; undefined if that can't be
 * found. `routeOptions` makes an object of twelve fields each time (bench http/fastify).
 */
function routeOf(request: FastifyRequest): Route | undefined {
  if (routeSymbol === undefined) {
    const own = Object.getOwnPropertySymbols(request);
    routeSymbol = own.find(({ description }) => description === ROUTE) ?? null;
  }
  if (routeSymbol === null) return undefined;
  return (request as unknown as Record<symbol, Route | undefined>)[routeSymbol];
}

/** What a route takes over: all but the limit, if it has another one. */
function inherited(
  { limit, max, timeWindow, ban, ...rest }: FastifyLimitOptions & { store: Store; name: string },
  own: FastifyLimitOptions,
) {
  if (own.limit !== undefined) return rest;
  const window = {
    ...rest,
    ...(max !== undefined && { max }),
    ...(timeWindow !== undefined && { timeWindow }),
    ...(ban !== undefined && { ban }),
  };
  const isWindow = own.max !== undefined || own.timeWindow !== undefined;
  return isWindow || limit === undefined ? window : { ...rest, limit };
}

function toStore(site: OptionSite, store: Store | undefined, cache: number | undefined): Store {
  if (cache === undefined) return store ?? memoryStore();
  if (store !== undefined) refuse(site, "takes store or cache, not both");
  return memoryStore({ keysMax: cache });
}
