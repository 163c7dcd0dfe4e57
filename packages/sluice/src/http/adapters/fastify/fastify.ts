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
import { isThenable } from "../../../base/maybe-promise.js";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import type { Policy } from "../../../rules/policy/policy.js";
import { decorate } from "../../compat/fastify-rate-limit/app-decorators.js";
import type {
  FastifyOptions,
  FastifyPolicyOptions,
} from "../../compat/fastify-rate-limit/fastify-options.js";
import type { FastifyLimit } from "../../compat/fastify-rate-limit/route-limit.js";
import {
  type FastifyLimits,
  toFastifyLimits,
} from "../../compat/fastify-rate-limit/route-limits.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import { applyLimit, sendStatus } from "./fastify-exchange.js";

export type * from "../../adapter-types.js";
export type { CheckedState } from "../../compat/fastify-rate-limit/checked-state.js";
export type { RateLimitCheck } from "../../compat/fastify-rate-limit/create-rate-limit.js";
export type {
  ErrorResponseContext,
  FastifyHook,
  FastifyLimitOptions,
  FastifyOptions,
  FastifyPolicyOptions,
} from "../../compat/fastify-rate-limit/fastify-options.js";
export { normalizeIP } from "../../exchange/fastify/client-address.js";

/** A plugin for `app.register`, with a handler for `GET /rate_limit`. */
export interface FastifyRateLimit extends FastifyPluginCallback {
  /** The caller's state, without counting: `app.get("/rate_limit", limit.status)`. */
  readonly status: (request: FastifyRequest, reply: FastifyReply) => void;
  /** That of the plugin's own limit; undefined if `max` or `timeWindow` is a function. */
  readonly policy: Policy | undefined;
  /** Closes what was made for this plugin, as closing its application does. */
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
  interface FastifyRequest {
    /** What was decided; null if the request was not counted. */
    rateLimit: RateLimitInfo | null;
  }
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/**
 * Puts limits in front of an application and everything below it. Handlers find what was decided in
 * `request.rateLimit`. Requests without a route count too, so that no client can scan for routes for free.
 */
export const rateLimit: FastifyRateLimitFactory = asPlugin((...args: unknown[]): never => {
  const [first, second, done] = args;
  if (typeof done === "function") {
    return registerWith(first as FastifyInstance, second, done as Done) as never;
  }
  return toPlugin(toFastifyLimits(SITE, first, second)) as never;
});

type Done = (error?: Error) => void;

/** Fastify waits for `done`, also if the options are invalid. */
function registerWith(app: FastifyInstance, options: unknown, done: Done): void {
  try {
    addTo(app, toFastifyLimits(SITE, options, undefined));
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

function toPlugin(limits: FastifyLimits): FastifyRateLimit {
  const register: FastifyPluginCallback = (app, _options, done) => {
    addTo(app, limits);
    done();
  };
  return Object.assign(asPlugin(register), {
    status: (request: FastifyRequest, reply: FastifyReply) => {
      const sent = sendStatus(limits.base, request, reply);
      if (isThenable(sent)) sent.catch((error) => reply.send(error));
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
    // A route's own hooks run after the application's, which may identify the user first.
    const before = route[limit.hook] ?? [];
    const hooks = Array.isArray(before) ? before : [before];
    route[limit.hook] = [...hooks, toRouteHook(limit)] as never;
  });
  app.addHook(
    base.hook as "preHandler",
    toHook((request) => limits.of(request)),
  );
  app.addHook("onClose", () => limits.close());
  decorate(app, limits, toHook);
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

/** Decorators and hooks of the plugin apply to the scope that registers it, not to a scope of its own. */
function asPlugin<T extends object>(plugin: T): T {
  return Object.assign(plugin, {
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "sluice/fastify",
    [Symbol.for("plugin-meta")]: { name: "sluice/fastify", fastify: "5.x" },
  });
}

export default rateLimit;
