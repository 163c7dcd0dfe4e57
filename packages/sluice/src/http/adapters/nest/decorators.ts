// What controllers and handlers of NestJS say about their limits. Decorators only write down; the guard
// reads it when a request comes.

import { SetMetadata } from "@nestjs/common";
import type { OptionSite } from "../../../base/shapes/code-options.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { toRuleId } from "../../handler/rule-id.js";
import { LimitScope } from "./limit-scope.js";
import { toLimits } from "./module-limits.js";
import type { NestOptions, OwnLimit } from "./nest-options.js";

/** What {@link SkipRateLimit} takes: one value for all limits, or one for each name. */
export type Skipped = boolean | Readonly<Record<string, boolean>>;

/** Where {@link RateLimit} writes an {@link OwnLimit}. */
export const OWN_LIMIT = "sluice:own-limit";
/** Where {@link SkipRateLimit} writes a {@link Skipped}. */
export const SKIPPED = "sluice:skipped";

const SITE: OptionSite = { name: "@RateLimit", code: "SLUICE_OPTION_INVALID" };

/**
 * Gives a controller or a handler limits of its own. `limit` replaces all limits of the module; each of
 * `limits` replaces the one of its name, and the others stay in force. Options that it omits (store, identity,
 * headers) come from the module. The handlers of a controller share one counter,
 * unless `key` has `"handler"`; a handler's decorator overrides its controller's.
 */
export function RateLimit(options: NestOptions): ClassDecorator & MethodDecorator {
  // Invalid options are reported where they are written, not with the first request.
  const limits = toLimits(SITE, options);
  if (options.limits === undefined || limits.every(({ limit }) => limit !== undefined)) {
    new LimitScope(SITE, { ...options, store: memoryStore({ keysMax: 1 }) }, limits);
  }
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const own: OwnLimit = { options, name: toName(target, key) };
    const decorator = SetMetadata(OWN_LIMIT, own);
    if (key === undefined || descriptor === undefined) decorator(target as () => unknown);
    else decorator(target, key, descriptor);
  };
}

/**
 * Takes a controller or a handler out of the guard; `false` puts a handler back in. By name for single
 * limits: `@SkipRateLimit({ short: true })`. Names that the module does not have are ignored.
 */
export function SkipRateLimit(skipped: Skipped = true): ClassDecorator & MethodDecorator {
  return SetMetadata(SKIPPED, skipped);
}

function toName(target: object, key: string | symbol | undefined): string {
  const name =
    typeof target === "function" ? target.name : `${target.constructor.name}.${String(key)}`;
  return toRuleId(name);
}
