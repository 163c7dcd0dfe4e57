import "reflect-metadata";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import {
  All,
  type ArgumentsHost,
  Catch,
  Controller,
  type DynamicModule,
  Get,
  type INestApplication,
  Module,
  Req,
  Res,
  type Type,
  UseGuards,
} from "@nestjs/common";
import type { AbstractHttpAdapter } from "@nestjs/core";
import { APP_GUARD, NestFactory, Reflector } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import type { Response as ExpressResponse } from "express";
import type { FastifyReply } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import type {
  CaseHandler,
  CaseReply,
  FrameworkHarness,
  RunningServer,
} from "../../../../test/http/framework-harness.js";
import { fixedWindow } from "../../../limits/limits.js";
import { parseRules } from "../../../rules/parse/parse.js";
import { createPolicy } from "../../../rules/policy/create-policy.js";
import { Policy } from "../../../rules/policy/policy.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { NestLimits } from "./module-limits.js";
import {
  type HttpOptions,
  type LimitedRequest,
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitOptions,
  SkipRateLimit,
} from "./nest.js";

/** A request of Express or Fastify, as far as both are alike. */
interface NestRequest extends LimitedRequest {
  readonly method: string;
  readonly originalUrl: string;
  readonly body: unknown;
}

/** How a platform answers. */
type Answer = (response: never, reply: CaseReply) => unknown;

/** What differs between the platforms. */
interface Platform {
  readonly toAdapter: () => AbstractHttpAdapter;
  readonly anyPath: string;
  readonly answer: Answer;
  readonly json: (response: never, status: number, body: object) => unknown;
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

async function serve(
  metadata: object,
  adapter: AbstractHttpAdapter,
  prepare: (app: INestApplication) => void = () => {},
): Promise<RunningServer> {
  class App {}
  Module(metadata)(App);
  const app = await NestFactory.create(App, adapter, {
    logger: false,
    forceCloseConnections: true,
  });
  prepare(app);
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() };
}

function toHarness(name: string, platform: Platform): FrameworkHarness {
  return {
    name,
    without: {
      "lets a client that waits for leave send the body that a rule needs":
        "its body parsers come before every guard and wait for the body themselves",
    },
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
  json: (response: ExpressResponse, status, body) => response.status(status).json(body),
};
const fastify: Platform = {
  toAdapter: () => new FastifyAdapter({ forceCloseConnections: true }),
  anyPath: "*",
  answer: onFastify,
  json: (reply: FastifyReply, status, body) => reply.code(status).send(body),
};

describeFramework(toHarness("NestJS on Express", express));
describeFramework(toHarness("NestJS on Fastify", fastify));

describe.each([
  ["Express", express],
  ["Fastify", fastify],
])("NestJS's own ways on %s", (_name, platform) => {
  const running: RunningServer[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });
  const window = (limit: number) => fixedWindow({ limit, windowMs: 60_000, align: "first" });
  const guard = { provide: APP_GUARD, useClass: RateLimitGuard };
  const start = async (metadata: object, prepare?: (app: INestApplication) => void) => {
    const server = await serve(metadata, platform.toAdapter(), prepare);
    running.push(server);
    return async (path: string) => (await fetch(`${server.url}${path}`)).status;
  };

  it("lets handlers and controllers have limits of their own, and leave", async () => {
    class Cats {
      one() {
        return "one";
      }
      two() {
        return "two";
      }
      free() {
        return "free";
      }
    }
    decorate(Cats, "one", [Get("one"), RateLimit({ limit: window(2) })]);
    decorate(Cats, "two", [Get("two")]);
    decorate(Cats, "free", [Get("free"), SkipRateLimit()]);
    RateLimit({ limit: window(3) })(Cats);
    Controller("cats")(Cats);
    class Dogs {
      one() {
        return "one";
      }
      kept() {
        return "kept";
      }
    }
    decorate(Dogs, "one", [Get("one")]);
    decorate(Dogs, "kept", [Get("kept"), SkipRateLimit(false)]);
    SkipRateLimit()(Dogs);
    Controller("dogs")(Dogs);
    const ask = await start({
      imports: [RateLimitModule.forRoot({ limit: window(1) })],
      controllers: [Cats, Dogs],
      providers: [guard],
    });
    const times = async (n: number, path: string) => {
      const found: number[] = [];
      for (let i = 0; i < n; i++) found.push(await ask(path));
      return found;
    };
    expect(await times(3, "/cats/one")).toEqual([200, 200, 429]);
    expect(await times(4, "/cats/two")).toEqual([200, 200, 200, 429]);
    expect(await times(4, "/cats/free")).toEqual([200, 200, 200, 200]);
    expect(await times(2, "/dogs/one")).toEqual([200, 200]);
    expect(await times(2, "/dogs/kept")).toEqual([200, 429]);
  });

  it("takes what a place leaves out from the module: identity, clock and store", async () => {
    const clock = new ManualClock();
    const store = memoryStore();
    const ask = await start({
      imports: [RateLimitModule.forRoot({ limit: window(9), clock, store, key: "global" })],
      controllers: [toPlace({ limit: window(1) })],
      providers: [guard],
    });
    expect([await ask("/place"), await ask("/place")]).toEqual([200, 429]);
    clock.advance(60_000);
    expect(await ask("/place")).toBe(200);
    const counter = { scope: "Place.show", part: 0, limit: window(1) };
    const [verdict] = store.peek([{ counter, key: "global", cost: 1, nowMs: clock.now() }]);
    expect(verdict.allowed).toBe(false);
  });

  it("is made out of other providers", async () => {
    const rules = parseRules({ version: 1, rules: [{ id: "all", limit: window(1) }] });
    for (const args of [
      createPolicy({ rules }),
      [createPolicy({ rules }), { body: "text" }],
      { limit: window(1) },
    ]) {
      class Settings {}
      Module({ providers: [{ provide: "ARGS", useValue: args }], exports: ["ARGS"] })(Settings);
      const limits = RateLimitModule.forRootAsync({
        imports: [Settings],
        inject: ["ARGS"],
        useFactory: async (given: never) => given,
      });
      const ask = await start({ imports: [limits], controllers: [toPlace()], providers: [guard] });
      expect([await ask("/place"), await ask("/place")]).toEqual([200, 429]);
    }
  });

  it("shows a refusal to a filter of the application, which may answer it", async () => {
    const seen: RateLimitException[] = [];
    class Everything {
      catch(error: RateLimitException, host: ArgumentsHost) {
        seen.push(error);
        const body = { problem: error.getResponse() };
        return platform.json(host.switchToHttp().getResponse() as never, error.getStatus(), body);
      }
    }
    Catch()(Everything);
    const ask = await start(
      {
        imports: [RateLimitModule.forRoot({ limit: window(1) })],
        controllers: [toPlace()],
        providers: [guard],
      },
      (app) => app.useGlobalFilters(new Everything()),
    );
    await ask("/place");
    const response = await fetch(`${running[0].url}/place`);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(response.headers.get("ratelimit")).toMatch(/^"default";r=0/);
    expect(await response.json()).toMatchObject({ problem: { code: "RATE_LIMIT_EXCEEDED" } });
    expect(seen[0]).toBeInstanceOf(RateLimitException);
    expect(seen[0].info.limit).toBe(1);
  });

  it("sends a body that is not JSON as it is", async () => {
    await start({
      imports: [
        RateLimitModule.forRoot({
          limit: window(1),
          body: () => ({ type: "text/html", text: "<p>é" }),
        }),
      ],
      controllers: [toPlace()],
      providers: [guard],
    });
    await fetch(`${running[0].url}/place`);
    const response = await fetch(`${running[0].url}/place`);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await response.text()).toBe("<p>é");
  });

  it("guards single controllers without being the guard of all", async () => {
    const Guarded = toPlace();
    UseGuards(RateLimitGuard)(Guarded);
    class Other {
      show() {
        return "other";
      }
    }
    decorate(Other, "show", [Get("other")]);
    Controller()(Other);
    const ask = await start({
      imports: [RateLimitModule.forRoot({ limit: window(1) })],
      controllers: [Guarded, Other],
    });
    expect([await ask("/place"), await ask("/place")]).toEqual([200, 429]);
    expect([await ask("/other"), await ask("/other")]).toEqual([200, 200]);
  });
});

describe("the guard of NestJS", () => {
  it("lets pass what does not come by HTTP, unless a subclass finds its request", () => {
    const limits = new NestLimits([{ limit: fixedWindow({ limit: 1, windowMs: 60_000 }) }]);
    const context = { getType: () => "rpc", getHandler: () => toPlace, getClass: () => Object };
    const guard = new RateLimitGuard(limits, new Reflector());
    for (let i = 0; i < 3; i++) expect(guard.canActivate(context as never)).toBe(true);
    class Finding extends RateLimitGuard {
      protected override getRequestResponse() {
        const req = {
          url: "/",
          method: "GET",
          headers: {},
          socket: { remoteAddress: "192.0.2.1" },
        };
        return { req, res: { setHeader() {}, writeHead() {} } };
      }
    }
    const finding = new Finding(limits, new Reflector());
    expect(finding.canActivate(context as never)).toBe(true);
    expect(() => finding.canActivate(context as never)).toThrow(RateLimitException);
  });

  it("says what is wrong with a decorator where it stands", () => {
    expect(() => RateLimit({ limit: 5 } as never)).toThrow(/limit/);
    expect(() => RateLimit({ limit: [], ttl: 1 } as never)).toThrow(
      /@RateLimit: unknown option "ttl"/,
    );
  });
});

/** A controller with one route. */
function toPlace(options?: RateLimitOptions): Type {
  class Place {
    show() {
      return "shown";
    }
  }
  const own = options === undefined ? [] : [RateLimit(options)];
  decorate(Place, "show", [Get("place"), ...own]);
  Controller()(Place);
  return Place;
}
