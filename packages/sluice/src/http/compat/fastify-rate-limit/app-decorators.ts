// `app.rateLimit()` and `app.createRateLimit()`, which @fastify/rate-limit adds to an application.

import type { FastifyInstance, FastifyRequest, preHandlerHookHandler } from "fastify";
import { toCheck } from "./create-rate-limit.js";
import type { FastifyLimitOptions } from "./fastify-options.js";
import type { FastifyLimit } from "./route-limit.js";
import { type FastifyLimits, HOOK_NAME } from "./route-limits.js";

/** Makes a hook that applies the limit of each request. */
type ToHook = (
  limitOf: (request: FastifyRequest) => FastifyLimit | undefined,
) => preHandlerHookHandler;

/** Adds both to an application, unless a plugin that was registered before has. */
export function decorate(app: FastifyInstance, limits: FastifyLimits, toHook: ToHook): void {
  const { base } = limits;
  if (!app.hasDecorator("createRateLimit")) {
    let checks = 0;
    app.decorate("createRateLimit", (options?: FastifyLimitOptions) =>
      toCheck(options === undefined ? base : limits.alone(options, `check ${++checks}`)),
    );
  }
  if (app.hasDecorator("rateLimit")) return;
  let hooks = 0;
  app.decorate("rateLimit", (options?: FastifyLimitOptions) => {
    const own = options === undefined ? undefined : limits.alone(options, `hook ${++hooks}`);
    // A request that was counted on its way to this hook is not counted again.
    const hook = toHook((request) => own ?? (request.rateLimit === null ? base : undefined));
    return Object.defineProperty(hook, "name", { value: HOOK_NAME });
  });
}
