/**
 * Rate limits for NestJS, on Express and on Fastify: a module, a guard and decorators.
 *
 * @module
 */

import {
  Controller,
  type DynamicModule,
  Get,
  Inject,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  type OnModuleDestroy,
  type OptionalFactoryDependency,
  type Provider,
  Req,
  Res,
  type Type,
} from "@nestjs/common";
import { APP_FILTER, HttpAdapterHost } from "@nestjs/core";
import { show } from "../../../base/errors.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import {
  nonEmptyString,
  type OptionSite,
  readOption,
  refuse,
} from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import type { HttpOptions } from "../../handler/http-options.js";
import { SkipRateLimit } from "./decorators.js";
import { type NestArguments, NestLimits } from "./module-limits.js";
import type { NestOptions } from "./nest-options.js";
import { RateLimitFilter, sendByAdapter } from "./nest-refusal.js";
import { NestHttpRequest } from "./nest-request.js";

export type * from "../../adapter-types.js";
export { RateLimit, type Skipped, SkipRateLimit } from "./decorators.js";
export { type LimitedRequest, type NestExchange, RateLimitGuard } from "./guard.js";
export type { NestArguments } from "./module-limits.js";
export type { NestLimit, NestOptions, OfRequest } from "./nest-options.js";
export { RateLimitException } from "./nest-refusal.js";

/** Options of the module itself. */
export interface RateLimitModuleOptions {
  /** Where `GET` shows callers their state under every rule, without counting. Default: nowhere. */
  statusPath?: string;
}

/** Arguments that are made when the application starts, out of its other providers. */
export interface RateLimitAsyncOptions extends RateLimitModuleOptions {
  imports?: NonNullable<ModuleMetadata["imports"]>;
  /** What `useFactory` is called with. */
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  /** A policy, a policy with HTTP options as a list, or the options of limits. */
  useFactory: (...injected: never[]) => MaybePromise<Policy | NestOptions | NestArguments>;
}

const SITE: OptionSite = { name: "RateLimitModule", code: "SLUICE_OPTION_INVALID" };
const ARGUMENTS = Symbol("sluice:arguments");

/** Makes the limits known to the whole application. {@link RateLimitGuard} holds requests to them. */
export class RateLimitModule implements OnModuleDestroy {
  readonly #limits: NestLimits;

  constructor(limits: NestLimits) {
    this.#limits = limits;
  }

  /** Holds requests to a policy. */
  static forRoot(policy: Policy, options?: HttpOptions & RateLimitModuleOptions): DynamicModule;
  /** Holds requests to one limit, or to several by name. */
  static forRoot(options: NestOptions & RateLimitModuleOptions): DynamicModule;
  static forRoot(
    first: Policy | (NestOptions & RateLimitModuleOptions),
    second?: HttpOptions & RateLimitModuleOptions,
  ): DynamicModule {
    if (first instanceof Policy) {
      const { statusPath, ...http } = { ...second };
      return toModule({ provide: ARGUMENTS, useValue: [first, http] }, statusPath);
    }
    if (typeof first !== "object" || first === null || Array.isArray(first)) {
      refuse(SITE, `needs a policy or an object of options, got ${show(first)}`);
    }
    const { statusPath, ...options } = first;
    return toModule({ provide: ARGUMENTS, useValue: options }, statusPath);
  }

  /** The same with arguments that need other providers: a client of Redis, a configuration. */
  static forRootAsync(options: RateLimitAsyncOptions): DynamicModule {
    const { useFactory, inject = [], imports = [], statusPath } = options;
    return toModule({ provide: ARGUMENTS, useFactory, inject }, statusPath, imports);
  }

  /** Closes the policies that were made for this application. */
  async onModuleDestroy(): Promise<void> {
    await this.#limits.close();
  }
}
Module({})(RateLimitModule);
Inject(NestLimits)(RateLimitModule, undefined, 0);

function toModule(
  given: Provider,
  statusPath: string | undefined,
  imports: NonNullable<ModuleMetadata["imports"]> = [],
): DynamicModule {
  if (statusPath !== undefined) readOption(SITE, "statusPath", nonEmptyString, statusPath);
  const useFactory = (args: Policy | NestOptions | NestArguments) =>
    new NestLimits(isList(args) ? args : [args]);
  return {
    module: RateLimitModule,
    global: true,
    imports,
    providers: [
      given,
      { provide: NestLimits, useFactory, inject: [ARGUMENTS] },
      { provide: APP_FILTER, useClass: RateLimitFilter },
    ],
    controllers: statusPath === undefined ? [] : [toStatusController(statusPath)],
    exports: [NestLimits],
  };
}

function isList(args: Policy | NestOptions | NestArguments): args is NestArguments {
  return Array.isArray(args);
}

/** A controller at this path. A class for each, as decorators write the path onto the class. */
function toStatusController(path: string): Type {
  class RateLimitStatus {
    readonly #limits: NestLimits;
    readonly #adapters: HttpAdapterHost;

    constructor(limits: NestLimits, adapters: HttpAdapterHost) {
      this.#limits = limits;
      this.#adapters = adapters;
    }

    async show(request: object, response: object): Promise<void> {
      const reply = await this.#limits.requestHandler.status(new NestHttpRequest(request));
      sendByAdapter(this.#adapters, response, reply);
    }
  }
  const { prototype } = RateLimitStatus;
  Get()(prototype, "show", { value: prototype.show });
  Req()(prototype, "show", 0);
  Res()(prototype, "show", 1);
  Inject(NestLimits)(RateLimitStatus, undefined, 0);
  Inject(HttpAdapterHost)(RateLimitStatus, undefined, 1);
  SkipRateLimit()(RateLimitStatus);
  Controller(path)(RateLimitStatus);
  return RateLimitStatus;
}
