import "reflect-metadata";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { All, Controller, type DynamicModule, Module, Req, Res, type Type } from "@nestjs/common";
import type { AbstractHttpAdapter } from "@nestjs/core";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import type { Response as ExpressResponse } from "express";
import type { FastifyReply } from "fastify";
import { describeFramework } from "../../test/http/framework-cases.js";
import type {
  CaseHandler,
  CaseInfo,
  CaseReply,
  FrameworkHarness,
  RunningServer,
} from "../../test/http/framework-harness.js";
import { Policy } from "../rules/policy.js";
import {
  type HttpOptions,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitOptions,
} from "./nest.js";

/** A request of Express or Fastify, as far as both are alike. */
interface NestRequest {
  readonly method: string;
  readonly originalUrl: string;
  readonly body: unknown;
  readonly rateLimit?: CaseInfo;
}

/** How a platform answers. */
type Answer = (response: never, reply: CaseReply) => unknown;

/** What differs between the platforms. */
interface Platform {
  readonly toAdapter: () => AbstractHttpAdapter;
  readonly anyPath: string;
  readonly answer: Answer;
}

const onExpress = (response: ExpressResponse, { status = 200, headers = {}, body }: CaseReply) => {
  response.status(status).set(headers);
  if (body === undefined) return response.end();
  return typeof body === "string" ? response.send(body) : Readable.from(body).pipe(response);
};

const onFastify = (reply: FastifyReply, { status = 200, headers = {}, body }: CaseReply) =>
  reply
    .code(status)
    .headers(headers)
    .send(typeof body === "object" ? Readable.from(body) : body);

/** A controller that hands every request to the case's handler. */
function toController(handle: CaseHandler, { answer, anyPath }: Platform): Type {
  class Everything {
    async take(request: NestRequest, response: never): Promise<void> {
      const reply = await handle({
        method: request.method,
        target: request.originalUrl,
        text: async () => JSON.stringify(request.body),
        rateLimit: request.rateLimit,
      });
      answer(response, reply);
    }
  }
  decorate(Everything, "take", [All(["/", anyPath])], [Req(), Res()]);
  Controller()(Everything);
  return Everything;
}

/** Decorators as plain functions: these sources are compiled without the syntax for them. */
function decorate(
  type: Type,
  method: string,
  methods: readonly MethodDecorator[],
  parameters: readonly ParameterDecorator[] = [],
): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method) as PropertyDescriptor;
  for (const [i, parameter] of parameters.entries()) parameter(type.prototype, method, i);
  for (const one of methods) one(type.prototype, method, descriptor);
}

async function serve(metadata: object, adapter: AbstractHttpAdapter): Promise<RunningServer> {
  class App {}
  Module(metadata)(App);
  const app = await NestFactory.create(App, adapter, {
    logger: false,
    forceCloseConnections: true,
  });
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() };
}

function toHarness(name: string, platform: Platform): FrameworkHarness {
  return {
    name,
    start: ([first, second], handle) =>
      serve(
        {
          // Express takes the first route that fits: the one for everything comes last.
          imports: [toModule(first, second), toFeature(toController(handle, platform))],
          providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
        },
        platform.toAdapter(),
      ),
  };
}

function toFeature(...controllers: Type[]): Type {
  class Feature {}
  Module({ controllers })(Feature);
  return Feature;
}

function toModule(first: unknown, second: unknown): DynamicModule {
  const statusPath = "rate_limit";
  if (first instanceof Policy) {
    return RateLimitModule.forRoot(first, { ...(second as HttpOptions), statusPath });
  }
  return RateLimitModule.forRoot({ ...(first as RateLimitOptions), statusPath });
}

const express: Platform = {
  toAdapter: () => new ExpressAdapter(),
  anyPath: "*path",
  answer: onExpress,
};
const fastify: Platform = {
  toAdapter: () => new FastifyAdapter(),
  anyPath: "*",
  answer: onFastify,
};

describeFramework(toHarness("NestJS on Express", express));
describeFramework(toHarness("NestJS on Fastify", fastify));
