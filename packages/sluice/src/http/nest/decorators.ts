// What controllers and handlers of NestJS say about their limits. Decorators only write down; the guard
// reads it when a request comes.

import { SetMetadata } from "@nestjs/common";
import { memoryStore } from "../../stores/memory/store.js";
import { type RateLimitOptions, toDoor } from "../options.js";
import { toRuleId } from "../rule-id.js";

/** What a place says of itself: a limit of its own. */
export interface OwnLimit {
  readonly options: RateLimitOptions;
  /** The rule's id if the options give none: `CatsController.findAll`. */
  readonly name: string;
}

/** Where {@link RateLimit} writes an {@link OwnLimit}. */
export const OWN_LIMIT = "sluice:own-limit";
/** Where {@link SkipRateLimit} writes whether. */
export const SKIPPED = "sluice:skipped";

const SITE = { name: "@RateLimit", code: "SLUICE_OPTION_INVALID" } as const;

/**
 * Gives a controller or a handler a limit of its own, instead of the module's. What the options leave
 * out is as the module has it: the store, the identity, the fields. On a controller its handlers
 * share one count; a handler's limit goes before its controller's.
 */
export function RateLimit(options: RateLimitOptions): ClassDecorator & MethodDecorator {
  // What can't be used is said where it is written, not when the first request comes.
  toDoor(SITE, { ...options, store: memoryStore({ keysMax: 1 }) });
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const own: OwnLimit = { options, name: toName(target, key) };
    const decorator = SetMetadata(OWN_LIMIT, own);
    if (key === undefined || descriptor === undefined) decorator(target as () => unknown);
    else decorator(target, key, descriptor);
  };
}

/** Takes a controller or a handler out of the guard; `false` puts a handler back in. */
export function SkipRateLimit(isSkipped = true): ClassDecorator & MethodDecorator {
  return SetMetadata(SKIPPED, isSkipped);
}

function toName(target: object, key: string | symbol | undefined): string {
  const name =
    typeof target === "function" ? target.name : `${target.constructor.name}.${String(key)}`;
  return toRuleId(name);
}
