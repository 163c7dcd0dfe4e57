// A scope of a NestJS application: the module, a controller or a handler, with the limits that apply there.
// For each request, the limits that are not skipped are decided together, by one request handler. Limits are
// rules with a name, so the request handlers of one scope, and of several, share their counters.

import type { ExecutionContext } from "@nestjs/common";
import { show } from "../../../base/errors.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import {
  anyFunction,
  nonEmptyString,
  type OptionSite,
  readOptions,
  refuse,
} from "../../../base/shapes/code-options.js";
import { anything, object, optional } from "../../../base/shapes/shapes.js";
import { toNamedHandler } from "../../handler/create-handler.js";
import type { RequestHandler } from "../../handler/handler.js";
import { RATE_LIMIT_FIELDS } from "../../handler/http-options.js";
import {
  type NamedLimit,
  type SharedOptions,
  SIMPLE_OPTIONS,
} from "../../handler/limits-in-code.js";
import type { Attributes } from "../../identity/attributed-facts.js";
import type { NestLimit, NestOptions } from "./nest-options.js";

/** What a guard knows about the call that it guards: the second argument of functions in code. */
export interface NestCall {
  readonly context: ExecutionContext;
  /** Finds the caller, if a guard overrides `getTracker`. */
  readonly trackerOf: ((request: object) => MaybePromise<string | undefined>) | undefined;
}

/** A limit of a scope. */
export interface ScopedLimit extends NestLimit {
  /** By which decorators refer to it. */
  readonly label: string;
  /** The rule's id. */
  readonly name: string;
}

/** Which limits a request leaves out, by label. */
export type IsSkipped = (label: string) => boolean;

/** A scope has one request handler for each combination of limits in use: at most 2^8, twice that if callers are tracked. */
export const LIMITS_MAX = 8;
const NEST_OPTIONS = object({
  ...RATE_LIMIT_FIELDS,
  name: optional(nonEmptyString),
  skip: optional(anyFunction),
  // Read by `toLimits`.
  limits: optional(anything()),
} satisfies Record<keyof NestOptions, unknown>);
const HANDLER = "handler";
const TRACKER = "tracker";

/** The limits of a scope. */
export class LimitScope {
  readonly #site: OptionSite;
  readonly #shared: NestOptions;
  readonly #handlers = new Map<string, RequestHandler>();
  readonly limits: readonly ScopedLimit[];

  /** Throws the site's error if something can't be used. */
  constructor(site: OptionSite, shared: NestOptions, limits: readonly ScopedLimit[]) {
    checkLimits(site, limits);
    readOptions(site, NEST_OPTIONS, shared);
    this.#site = site;
    this.#shared = shared;
    this.limits = limits;
    this.handlerOf(limits, false);
  }

  /** The request handler for a request; undefined if none of the limits applies to it. */
  handlerFor(
    isSkipped: IsSkipped,
    request: object,
    call: NestCall,
  ): MaybePromise<RequestHandler | undefined> {
    let held: MaybePromise<ScopedLimit[]> = [];
    for (const limit of this.limits) {
      if (isSkipped(limit.label)) continue;
      held = andThen(held, (before) =>
        andThen(limit.skip?.(request, call.context) ?? false, (isLeftOut) =>
          isLeftOut ? before : [...before, limit],
        ),
      );
    }
    return andThen(held, (limits) =>
      limits.length === 0 ? undefined : this.handlerOf(limits, call.trackerOf !== undefined),
    );
  }

  /** The request handler of some of the limits. `isTracked`: a guard's `getTracker` says who the caller is. */
  handlerOf(limits: readonly ScopedLimit[], isTracked: boolean): RequestHandler {
    const id = `${isTracked} ${limits.map(({ name }) => name).join(" ")}`;
    const known = this.#handlers.get(id);
    if (known !== undefined) return known;
    const requestHandler = this.#toRequestHandler(limits, isTracked);
    this.#handlers.set(id, requestHandler);
    return requestHandler;
  }

  async close(): Promise<void> {
    for (const requestHandler of this.#handlers.values()) await requestHandler.close();
  }

  #toRequestHandler(limits: readonly ScopedLimit[], isTracked: boolean): RequestHandler {
    const common = inherited(this.#shared);
    const named = limits.map((one) => toNamed({ ...common, ...one }, isTracked));
    const { skip, body, ...shared } = this.#shared;
    const needsAttributes = named.some(({ key }) => isByAttribute(key));
    return toNamedHandler<object>(this.#site, named, {
      ...shared,
      ...(skip === undefined ? {} : { skip: withContext(skip) }),
      ...(body === undefined ? {} : { body: withContext(body) }),
      ...(needsAttributes ? { attributes: findAttributes } : {}),
    } as SharedOptions<object>);
  }
}

function checkLimits(site: OptionSite, limits: readonly ScopedLimit[]): void {
  if (limits.length === 0 || limits.length > LIMITS_MAX) {
    refuse(site, `limits must be a list of 1 to ${LIMITS_MAX} limits, got ${limits.length}`);
  }
  for (const [i, { label }] of limits.entries()) {
    if (limits.findIndex((other) => other.label === label) !== i) {
      refuse(site, `limits has ${show(label)} twice; give each limit a name of its own`);
    }
  }
}

/** What holds for each limit unless it says otherwise. */
function inherited(options: NestOptions): Partial<NestLimit> {
  const names = SIMPLE_OPTIONS.filter((name) => !OF_ALL.has(name));
  const given = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

/** Options that are not a single limit's. */
const OF_ALL: ReadonlySet<string> = new Set([
  "limit",
  "name",
  "skip",
  "store",
  "clock",
  "onStoreFailure",
]);

const BY_HANDLER = `attribute:${HANDLER}`;
const BY_TRACKER = `attribute:${TRACKER}`;

/** A limit in the names of rules. The caller that a guard found replaces every dimension but the handler. */
function toNamed(
  { label: _label, skip: _skip, ...limit }: ScopedLimit,
  isTracked: boolean,
): NamedLimit<object> {
  const { key = "ip" } = limit;
  const named: Record<string, unknown> = { ...limit, cost: withContext(limit.cost) };
  if (typeof key === "function") named.key = withContext(key);
  else if (isTracked) named.onMissing = "skip";
  if (typeof key !== "function") named.key = toDimensions([key].flat(), isTracked);
  return named as unknown as NamedLimit<object>;
}

function toDimensions(given: readonly string[], isTracked: boolean): readonly string[] {
  const found = given.map((dimension) => (dimension === HANDLER ? BY_HANDLER : dimension));
  if (!isTracked) return found;
  return [BY_TRACKER, ...found.filter((dimension) => dimension === BY_HANDLER)];
}

function isByAttribute(key: unknown): boolean {
  return Array.isArray(key) && (key.includes(BY_HANDLER) || key.includes(BY_TRACKER));
}

/** None for `GET` of the status, which belongs to no handler. */
function findAttributes(request: object, call: NestCall | undefined): MaybePromise<Attributes> {
  if (call === undefined) return {};
  const { context, trackerOf } = call;
  const handler = `${context.getClass().name}.${context.getHandler().name}`;
  if (trackerOf === undefined) return { [HANDLER]: handler };
  return andThen(
    trackerOf(request),
    (tracker) => ({ [HANDLER]: handler, [TRACKER]: tracker }) as Attributes,
  );
}

/** A function of the application, as it is called from here; anything else as it is. */
function withContext(given: unknown): unknown {
  if (typeof given !== "function") return given;
  return (first: unknown, call: NestCall | undefined) => given(first, call?.context);
}
