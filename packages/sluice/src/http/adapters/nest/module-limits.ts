// The scopes of a NestJS application: the module with its limits or its policy, and each controller or
// handler that has limits of its own.

import { show } from "../../../base/errors.js";
import {
  nonEmptyString,
  type OptionSite,
  readOption,
  refuse,
} from "../../../base/shapes/code-options.js";
import { listOf, object, optional } from "../../../base/shapes/shapes.js";
import { Policy } from "../../../rules/policy/policy.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import type { Store } from "../../../stores/store.js";
import { toRequestHandler } from "../../handler/create-handler.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { SIMPLE_FIELDS } from "../../handler/limits-in-code.js";
import { toRuleId } from "../../handler/rule-id.js";
import { LIMITS_MAX, LimitScope, type ScopedLimit } from "./limit-scope.js";
import type { NestLimit, NestOptions, OwnLimit } from "./nest-options.js";

/** What `RateLimitModule` takes: a policy, with or without HTTP options, or the options of its limits. */
export type NestArguments = readonly [first: Policy | NestOptions, second?: HttpOptions];

const SITE: OptionSite = { name: "RateLimitModule", code: "SLUICE_OPTION_INVALID" };
const DEFAULT = "default";
const { store: _store, clock: _clock, onStoreFailure: _failure, ...ofOneLimit } = SIMPLE_FIELDS;
const limitsByName = listOf(
  object({ ...ofOneLimit, name: optional(nonEmptyString) } satisfies Record<
    keyof NestLimit,
    unknown
  >),
  { countMax: LIMITS_MAX },
);

/** All scopes of an application. Injected into the guard. */
export class NestLimits {
  /** The module's own. */
  readonly requestHandler: RequestHandler;
  /** The module's limits; undefined if it has a policy, which the request handler holds. */
  readonly root: LimitScope | undefined;
  readonly #shared: NestOptions;
  /** One for each decorator in the source. */
  readonly #scopes = new Map<OwnLimit, LimitScope>();
  #ownStore: Store | undefined;

  constructor([first, second]: NestArguments) {
    if (first instanceof Policy) {
      this.requestHandler = toRequestHandler(SITE, first, second);
      this.#shared = (second ?? {}) as NestOptions;
      return;
    }
    if (second !== undefined) {
      refuse(
        SITE,
        `takes a policy and options, or options alone; got ${show(second)} besides them`,
      );
    }
    this.#shared = this.#withStore(first);
    this.root = new LimitScope(SITE, this.#shared, toLimits(SITE, first));
    this.requestHandler = this.root.handlerOf(this.root.limits, false);
  }

  /** The scope of a decorator, or the module's; undefined is the module with a policy. */
  scopeOf(own: OwnLimit | undefined): LimitScope | undefined {
    if (own === undefined) return this.root;
    const known = this.#scopes.get(own);
    if (known !== undefined) return known;
    const shared = this.#withStore({ ...this.#shared, ...own.options });
    const scope = new LimitScope(SITE, shared, mergeLimits(this.root?.limits ?? [], own));
    this.#scopes.set(own, scope);
    return scope;
  }

  /** Closes the policies that were made here, and the store if it was made here too. */
  async close(): Promise<void> {
    await this.requestHandler.close();
    for (const scope of [this.root, ...this.#scopes.values()]) await scope?.close();
    await this.#ownStore?.close();
  }

  /** One table of counters serves all scopes, however many have limits of their own. */
  #withStore(options: NestOptions): NestOptions {
    if (typeof options !== "object" || options === null || options.store !== undefined) {
      return options;
    }
    this.#ownStore ??= memoryStore();
    return { ...options, store: this.#ownStore };
  }
}

/** The limits that options give. */
export function toLimits(site: OptionSite, options: NestOptions): ScopedLimit[] {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    refuse(site, `needs an object of options, got ${show(options)}`);
  }
  const { limit, limits, name = DEFAULT } = options;
  if (limits === undefined)
    return [{ label: name, name, ...(limit === undefined ? {} : { limit }) }];
  if (limit !== undefined) refuse(site, "takes limit or limits, not both");
  readOption(site, "limits", limitsByName, limits);
  return limits.map(({ name: label = DEFAULT, ...one }) => ({ ...one, label, name: label }));
}

/** A decorator's `limit` replaces all limits of the module; of its `limits` each replaces that of its name. */
function mergeLimits(module: readonly ScopedLimit[], { options, name }: OwnLimit): ScopedLimit[] {
  const own = toLimits(SITE, options);
  if (options.limits === undefined) {
    const [only] = own;
    return [
      { ...(only.limit === undefined ? module[0] : {}), ...only, name: options.name ?? name },
    ];
  }
  // Rules of different numbers need different names, or they would clip what the other has counted.
  const placed = own.map((one) => ({
    ...module.find(({ label }) => label === one.label),
    ...one,
    name: toRuleId(`${name}.${one.label}`),
  }));
  const kept = module.filter(({ label }) => !own.some((one) => one.label === label));
  return [...kept, ...placed];
}
