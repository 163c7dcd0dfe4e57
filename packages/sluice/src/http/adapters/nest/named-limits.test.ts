import "reflect-metadata";
import type { AddressInfo } from "node:net";
import { Controller, type ExecutionContext, Get, HttpException, Module } from "@nestjs/common";
import { type AbstractHttpAdapter, APP_GUARD, NestFactory, Reflector } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { afterEach, describe, expect, it } from "vitest";
import { createLimiter } from "../../../limiter/limiter.js";
import { fixedWindow } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import {
  type NestOptions,
  RateLimit,
  type RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from "./nest.js";

const window = (limit: number, windowMs = 60_000) =>
  fixedWindow({ limit, windowMs, align: "first" });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A controller with these routes, and what decorates them. */
function toController(routes: Record<string, readonly MethodDecorator[]>, name = "Cats") {
  const type = { [name]: class {} }[name];
  for (const [path, decorators] of Object.entries(routes)) {
    const value = { [path]: () => path }[path];
    Object.defineProperty(type.prototype, path, { value, configurable: true, writable: true });
    const descriptor = Object.getOwnPropertyDescriptor(type.prototype, path) as PropertyDescriptor;
    for (const one of [Get(path), ...decorators]) one(type.prototype, path, descriptor);
  }
  Controller()(type);
  return type;
}

describe.each([
  ["Express", () => new ExpressAdapter()],
  ["Fastify", () => new FastifyAdapter({ forceCloseConnections: true })],
] as [string, () => AbstractHttpAdapter][])(
  "limits by name in NestJS on %s",
  (_name, toAdapter) => {
    const start = async (options: NestOptions, controller: object, guard = RateLimitGuard) => {
      class App {}
      Module({
        imports: [RateLimitModule.forRoot(options)],
        controllers: [controller as never],
        providers: [{ provide: APP_GUARD, useClass: guard }],
      })(App);
      const app = await NestFactory.create(App, toAdapter(), {
        logger: false,
        forceCloseConnections: true,
      });
      closing.push(() => app.close());
      await app.listen(0, "127.0.0.1");
      const { port } = app.getHttpServer().address() as AddressInfo;
      const ask = (path: string, headers: Record<string, string> = {}) =>
        fetch(`http://127.0.0.1:${port}/${path}`, { headers });
      const statuses = async (paths: readonly string[], headers?: Record<string, string>) => {
        const found: number[] = [];
        for (const path of paths) found.push((await ask(path, headers)).status);
        return found;
      };
      return { ask, statuses };
    };

    it("keeps two limits with equal numbers apart, each with its own key", async () => {
      const { ask, statuses } = await start(
        {
          limits: [
            { limit: window(2), key: ["ip", "handler"] },
            { name: "caller", limit: window(2), key: "header:x-user" },
          ],
        },
        toController({ a: [], b: [] }),
      );
      const ann = { "x-user": "ann" };
      expect(await statuses(["a", "b", "a", "b"], ann)).toEqual([200, 200, 429, 429]);
      // Refused requests cost nothing: Ann's third and fourth are still there for Bob.
      expect(await statuses(["a", "b", "a"], { "x-user": "bob" })).toEqual([200, 200, 429]);
      const { headers } = await ask("a", { "x-user": "cid" });
      expect(headers.get("ratelimit-policy")).toMatch(/"default".*"caller"/);
    });

    it("leaves out limits by name, and puts them back", async () => {
      const cats = toController({
        both: [],
        short: [SkipRateLimit({ long: true })],
        long: [SkipRateLimit({ short: true, long: false })],
        none: [SkipRateLimit({ short: true, long: true })],
        back: [SkipRateLimit(false)],
      });
      SkipRateLimit({ long: true })(cats);
      const { statuses } = await start(
        {
          key: ["ip", "handler"],
          limits: [
            { name: "short", limit: window(1) },
            { name: "long", limit: window(2) },
          ],
        },
        cats,
      );
      expect(await statuses(["both", "both"])).toEqual([200, 429]);
      expect(await statuses(["short", "short"])).toEqual([200, 429]);
      expect(await statuses(["long", "long", "long"])).toEqual([200, 200, 429]);
      expect(await statuses(["none", "none", "none"])).toEqual([200, 200, 200]);
      expect(await statuses(["back", "back"])).toEqual([200, 429]);
    });

    it("skips a single limit by a function of the request and its context", async () => {
      const skip = (_request: object, context: ExecutionContext) =>
        context.getHandler().name === "free";
      const { statuses } = await start(
        { limits: [{ name: "short", limit: window(1), skip }, { limit: window(3) }] },
        toController({ free: [], held: [] }),
      );
      expect(await statuses(["free", "free", "held", "held"])).toEqual([200, 200, 200, 429]);
      expect(await statuses(["free"])).toEqual([429]);
    });

    it("replaces a single limit for a handler, and lets the others go on", async () => {
      const dear = RateLimit({ limits: [{ name: "short", limit: window(2) }] });
      const clock = new ManualClock();
      const { statuses } = await start(
        {
          clock,
          limits: [
            { name: "short", limit: window(1, 1_000) },
            { name: "long", limit: window(4) },
          ],
        },
        toController({ plain: [], dear: [dear] }),
      );
      expect(await statuses(["plain", "plain", "dear", "dear", "dear"])).toEqual([
        200, 429, 200, 200, 429,
      ]);
      clock.advance(1_000);
      expect(await statuses(["plain"])).toEqual([200]);
      clock.advance(1_000);
      // The long limit is spent by all four.
      expect(await statuses(["plain"])).toEqual([429]);
    });

    it("counts each handler apart if key has the handler, whatever its path parameters are", async () => {
      const { statuses } = await start(
        { limit: window(2), key: ["ip", "handler"] },
        toController({ "cats/:id": [], dogs: [] }),
      );
      expect(await statuses(["cats/1", "cats/2", "cats/3", "dogs"])).toEqual([200, 200, 429, 200]);
    });

    it("gives key, cost and body the ExecutionContext", async () => {
      const nameOf = (context: ExecutionContext) =>
        `${context.getClass().name}.${context.getHandler().name}`;
      const { ask, statuses } = await start(
        {
          limit: window(4),
          key: (_request, context) => nameOf(context),
          cost: (_request, context) => (context.getHandler().name === "dear" ? 4 : 2),
          body: ({ status }, context) => ({
            type: "text/plain",
            text: `${status} ${nameOf(context)}`,
          }),
        },
        toController({ dear: [], cheap: [] }),
      );
      expect(await statuses(["dear", "dear", "cheap", "cheap", "cheap"])).toEqual([
        200, 429, 200, 200, 429,
      ]);
      expect(await (await ask("dear")).text()).toBe("429 Cats.dear");
    });

    it("asks a guard who the caller is, and counts handlers apart as before", async () => {
      class ByUser extends RateLimitGuard {
        protected override async getTracker(request: object) {
          return (request as { headers: Record<string, string> }).headers["x-user"];
        }
      }
      const { statuses } = await start(
        { limit: window(1), key: ["ip", "handler"] },
        toController({ a: [], b: [] }),
        ByUser,
      );
      const ann = { "x-user": "ann" };
      expect(await statuses(["a", "a", "b"], ann)).toEqual([200, 429, 200]);
      expect(await statuses(["a"], { "x-user": "bob" })).toEqual([200]);
      // No caller is found: not counted.
      expect(await statuses(["a", "a"])).toEqual([200, 200]);
    });

    it("lets a guard skip requests, later as well", async () => {
      class Skipping extends RateLimitGuard {
        protected override async shouldSkip(context: ExecutionContext) {
          return context.getHandler().name === "free";
        }
      }
      const { statuses } = await start(
        { limit: window(1) },
        toController({ free: [], held: [] }),
        Skipping,
      );
      expect(await statuses(["held", "free", "held"])).toEqual([200, 200, 429]);
    });

    // What the tests of @nestjs/throttler check besides; what stays different is in the guide.
    it("gives a controller, a handler and the module's other handlers the numbers that each has", async () => {
      const clock = new ManualClock();
      const cats = toController({ plain: [], higher: [RateLimit({ limit: window(5) })] });
      RateLimit({ limit: window(2) })(cats);
      for (const [path, limit] of [
        ["plain", 2],
        ["higher", 5],
      ] as const) {
        const { ask } = await start({ limit: window(3), clock }, cats);
        for (let left = limit - 1; left >= 0; left--) {
          const { status, headers } = await ask(path);
          expect([status, headers.get("x-ratelimit-limit")]).toEqual([200, `${limit}`]);
          expect(headers.get("x-ratelimit-remaining")).toBe(`${left}`);
          expect(headers.get("x-ratelimit-reset")).toMatch(/^\d+$/);
        }
        const refused = await ask(path);
        expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
        clock.advance(60_000);
        expect((await ask(path)).headers.get("x-ratelimit-remaining")).toBe(`${limit - 1}`);
      }
    });

    it("sends no headers for what is skipped, by a decorator or a function, nor if they are off", async () => {
      const cats = toController({ free: [SkipRateLimit()], held: [] });
      const skip = (request: object) =>
        (request as { headers: Record<string, string> }).headers["x-user"] === "robot";
      const { ask, statuses } = await start({ limit: window(1), skip }, cats);
      const robot = { "x-user": "robot" };
      const shown = ({ headers }: Response) => [...headers.keys()].filter((n) => /rate/.test(n));
      expect(shown(await ask("free"))).toEqual([]);
      expect(shown(await ask("held", robot))).toEqual([]);
      expect(
        await statuses(
          Array.from({ length: 5 }, () => "held"),
          robot,
        ),
      ).not.toContain(429);
      const silent = await start({ limit: window(1), headers: "none", legacyHeaders: false }, cats);
      const answers = [await silent.ask("held"), await silent.ask("held")];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
      expect(answers.flatMap(shown)).toEqual([]);
    });

    it("decides by whichever of three limits binds, each in its own time", async () => {
      const clock = new ManualClock();
      const cats = toController({ a: [] });
      const limits = [
        { name: "short", limit: window(1, 1_000) },
        { limit: window(2, 5_000) },
        { name: "long", limit: window(5) },
      ];
      const { ask } = await start({ limits, clock }, cats);
      const seen = [];
      for (const ms of [0, 0, 1_000, 1_000, 5_000, 1_000, 5_000, 1_000]) {
        clock.advance(ms);
        const { status, headers } = await ask("a");
        seen.push([status, headers.get("retry-after")]);
      }
      const passed = [200, null];
      expect(seen).toEqual([
        passed,
        [429, "1"],
        passed,
        [429, "3"],
        passed,
        passed,
        passed,
        [429, "46"],
      ]);
    });

    it("lets a guard throw an exception of its own for a refused request", async () => {
      class Throwing extends RateLimitGuard {
        protected override async throwThrottlingException(
          context: ExecutionContext,
          { info }: RateLimitException,
        ) {
          throw new HttpException(`${context.getHandler().name}: ${info.limit} at most`, 420);
        }
      }
      const { ask, statuses } = await start(
        { limit: window(1) },
        toController({ a: [] }),
        Throwing,
      );
      expect(await statuses(["a", "a"])).toEqual([200, 420]);
      const response = await ask("a");
      expect(response.headers.get("retry-after")).toBe("60");
      expect(await response.json()).toMatchObject({ statusCode: 420, message: "a: 1 at most" });
    });
  },
);

describe("a guard of NestJS for what does not come by HTTP", () => {
  it("may hold it to a limiter of its own", async () => {
    const limiter = createLimiter({ limit: window(1) });
    class Sockets extends RateLimitGuard {
      protected override async handleRequest(context: ExecutionContext) {
        const { allowed } = await limiter.check(
          context.switchToWs().getClient<{ ip: string }>().ip,
        );
        return allowed;
      }
    }
    const guard = new Sockets({} as never, new Reflector());
    const toContext = (ip: string) => ({ switchToWs: () => ({ getClient: () => ({ ip }) }) });
    const ask = (ip: string) => guard.canActivate(toContext(ip) as never);
    expect([await ask("a"), await ask("a"), await ask("b")]).toEqual([true, false, true]);
  });
});

describe("options of NestJS", () => {
  const limit = window(1);
  it.each<[NestOptions, RegExp]>([
    [{ limit, limits: [{ limit }] }, /takes limit or limits, not both/],
    [{ limits: [] }, /limits must be a list of 1 to 8 items, got 0/],
    [{ limits: { short: { limit } } as never }, /limits must be a list/],
    [{ limits: [{ limit }, { limit }] }, /has "default" twice/],
    [{ limits: [{ limit, ttl: 1 } as never] }, /limits\[0\].*unknown option "ttl"/],
    [{ limits: [{ limit, store: memoryStore() } as never] }, /unknown option "store"/],
    [{ limits: [{ limit, skip: true as never }] }, /limits\[0\].skip must be a function/],
  ])("refuses %o where it is written", (options, message) => {
    expect(() => RateLimit(options)).toThrow(message);
  });
});
