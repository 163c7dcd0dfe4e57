/**
 * Rate limits for Fastify 5: for all routes, for single ones by `config.rateLimit`, and for requests
 * that have none.
 *
 * @module
 */

import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  preHandlerHookHandler,
} from "fastify";
import { show } from "../../../base/errors.js";
import { isThenable } from "../../../base/maybe-promise.js";
import { type OptionSite, refuse } from "../../../base/option-checks.js";
import { Policy } from "../../../rules/policy/policy.js";
import { type RateLimitCheck, toCheck } from "../../compat/fastify-rate-limit/create-rate-limit.js";
import type {
  FastifyHook,
  FastifyLimitOptions,
  FastifyOptions,
} from "../../compat/fastify-rate-limit/fastify-options.js";
import { type FastifyLimit, toPolicyLimit } from "../../compat/fastify-rate-limit/route-limit.js";
import { FastifyLimits, HOOK_NAME } from "../../compat/fastify-rate-limit/route-limits.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { applyLimit, tellStatus } from "./fastify-exchange.js";

export type * from "../../adapter-types.js";
export type {
  CheckedState,
  RateLimitCheck,
} from "../../compat/fastify-rate-limit/create-rate-limit.js";
export type {
  ErrorResponseContext,
  FastifyHook,
  FastifyLimitOptions,
  FastifyOptions,
} from "../../compat/fastify-rate-limit/fastify-options.js";
export { normalizeIP } from "./client-address.js";

/** Options of the plugin over a policy. */
export type FastifyPolicyOptions = HttpOptions<FastifyRequest> & {
  /** Where in the life of a request it is counted; default `"onRequest"`. */
  hook?: FastifyHook;
};

/** A plugin for `app.register`, with a handler for `GET /rate_limit`. */
export interface FastifyRateLimit extends FastifyPluginCallback {
  /** The caller's state, without counting: `app.get("/rate_limit", limit.status)`. */
  readonly status: (request: FastifyRequest, reply: FastifyReply) => void;
  /** That of the plugin's own limit; undefined if `max` or `timeWindow` is a function. */
  readonly policy: Policy | undefined;
  /** Lets go of what was made for this plugin, as closing its application does. */
  readonly close: () => Promise<void>;
}

/** The plugin, and what makes one. */
export interface FastifyRateLimitFactory {
  /** A plugin over a policy: `app.register(rateLimit(policy))`. */
  (policy: Policy, options?: FastifyPolicyOptions): FastifyRateLimit;
  /** A plugin over one limit: `app.register(rateLimit({ limit }))`. */
  (options: FastifyOptions): FastifyRateLimit;
  /** The plugin itself: `app.register(rateLimit, { max: 100, timeWindow: "1 minute" })`, or a policy. */
  (app: FastifyInstance, options: FastifyOptions | Policy, done: (error?: Error) => void): void;
}

declare module "fastify" {
  interface FastifyInstance {
    /** A hook for a handler that has none of its own, such as that of 404; default: the plugin's limit. */
    rateLimit(options?: FastifyLimitOptions): preHandlerHookHandler;
    /** A function that counts a request wherever a handler calls it; default: by the plugin's limit. */
    createRateLimit(options?: FastifyLimitOptions): RateLimitCheck;
  }
  interface FastifyRequest {
    /** What was decided; null if the request was not counted. */
    rateLimit: RateLimitInfo | null;
  }
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/**
 * Puts limits in front of an application and everything below it. Handlers find what was decided in
 * `request.rateLimit`. Requests without a route count too: nobody can look for routes for free.
 */
export const rateLimit: FastifyRateLimitFactory = asPlugin((...args: unknown[]): never => {
  const [first, second, done] = args;
  if (typeof done === "function") {
    return registerWith(first as FastifyInstance, second, done as Done) as never;
  }
  return toPlugin(toLimits(first, second)) as never;
});

type Done = (error?: Error) => void;

/** Fastify waits for `done`, also where nothing can be registered. */
function registerWith(app: FastifyInstance, options: unknown, done: Done): void {
  try {
    addTo(app, toLimits(options, undefined));
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

function toLimits(first: unknown, second: unknown): FastifyLimits {
  if (first instanceof Policy) {
    const base = toPolicyLimit(SITE, first, (second ?? {}) as FastifyPolicyOptions);
    return new FastifyLimits(SITE, { base });
  }
  if (second !== undefined) refuse(SITE, `takes options alone; got ${show(second)} besides them`);
  return new FastifyLimits(SITE, asOptions(first));
}

function asOptions(options: unknown): FastifyOptions {
  if (typeof options === "object" && options !== null) return options;
  refuse(SITE, `needs a policy or an object of options, got ${show(options)}`);
}

function toPlugin(limits: FastifyLimits): FastifyRateLimit {
  const register: FastifyPluginCallback = (app, _options, done) => {
    addTo(app, limits);
    done();
  };
  return Object.assign(asPlugin(register), {
    status: (request: FastifyRequest, reply: FastifyReply) => {
      const told = tellStatus(limits.base, request, reply);
      if (isThenable(told)) told.catch((error) => reply.send(error));
    },
    policy: limits.base.policy,
    close: () => limits.close(),
  });
}

function addTo(app: FastifyInstance, limits: FastifyLimits): void {
  const { base } = limits;
  if (!app.hasRequestDecorator("rateLimit")) app.decorateRequest("rateLimit", null);
  app.addHook("onRoute", (route) => {
    const limit = limits.addRoute(route);
    if (limit === undefined) return;
    // A route's own hooks run after the application's, so that these may say first who the user is.
    const before = route[limit.hook] ?? [];
    const hooks = Array.isArray(before) ? before : [before];
    route[limit.hook] = [...hooks, toRouteHook(limit)] as never;
  });
  app.addHook(
    base.hook as "preHandler",
    toHook((request) => limits.of(request)),
  );
  app.addHook("onClose", () => limits.close());
  if (!app.hasDecorator("createRateLimit")) {
    let checks = 0;
    app.decorate("createRateLimit", (options?: FastifyLimitOptions) =>
      toCheck(options === undefined ? base : limits.alone(options, `check ${++checks}`)),
    );
  }
  if (app.hasDecorator("rateLimit")) return;
  let hooks = 0;
  app.decorate("rateLimit", (options?: FastifyLimitOptions) => {
    // Who was counted on the way to this hook is not counted again.
    const own = options === undefined ? undefined : limits.alone(options, `hook ${++hooks}`);
    const hook = toHook((request) => own ?? (request.rateLimit === null ? base : undefined));
    return Object.defineProperty(hook, "name", { value: HOOK_NAME });
  });
}

/** A function of its own and not a case of the next one, so that V8 inlines what it calls. */
function toRouteHook(limit: FastifyLimit): preHandlerHookHandler {
  return (request, reply, done) => applyLimit({ limit, request, reply, done });
}

function toHook(
  limitOf: (request: FastifyRequest) => FastifyLimit | undefined,
): preHandlerHookHandler {
  return (request, reply, done) => {
    const limit = limitOf(request);
    if (limit === undefined) done();
    else applyLimit({ limit, request, reply, done });
  };
}

/** What a plugin decorates and hooks belongs to who registers it, and not to a scope of its own. */
function asPlugin<T extends object>(plugin: T): T {
  return Object.assign(plugin, {
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "sluice/fastify",
    [Symbol.for("plugin-meta")]: { name: "sluice/fastify", fastify: "5.x" },
  });
}

export default rateLimit;
