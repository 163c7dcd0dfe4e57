// What the tests of express-rate-limit check, in our own words. Each behaviour is observed on the original, on ours,
// and on the original over our store, and has to be the same. Those that differ are at the end, with what ours does.

import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { rateLimit as original, ipKeyGenerator as originalIpKey } from "express-rate-limit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { listen, type RunningServer } from "../../../../test/http/framework-harness.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { ipKeyGenerator, rateLimit } from "../../adapters/express/express.js";
import { expressRateLimitStore } from "./store.js";

const running: RunningServer[] = [];
const clock = new ManualClock(Date.UTC(2030, 0, 1));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: clock.now() });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((server) => server.close()));
});

function pass(ms: number): void {
  clock.advance(ms);
  vi.setSystemTime(clock.now());
}

interface Limiter extends RequestHandler {
  resetKey(key: string): unknown;
  getKey(key: string): unknown;
}
type Make = (options?: object) => Limiter;
type Send = (target?: string) => Promise<Seen>;

interface Seen {
  readonly status: number;
  readonly body: string;
  readonly fields: Readonly<Record<string, string>>;
}

async function serve(...limiters: RequestHandler[]): Promise<Send> {
  const app = express();
  app.set("env", "test");
  app.use(...limiters);
  app.get("/", (_request, response) => void response.send("hello"));
  app.get("/end", (_request, response) => void response.end("hello"));
  app.get("/error", (_request, response) => void response.status(400).send("no"));
  app.get("/crash", () => {
    throw new Error("crashed");
  });
  app.get("/info", (request, response) => {
    const { rateLimit: info, quota } = request as { rateLimit?: Info; quota?: Info };
    response.json([info, quota].map((one) => one && [one.limit, one.used, one.remaining]));
  });
  const answer: ErrorRequestHandler = (error, _request, response, _next) => {
    response.status(500).send(error.message);
  };
  app.use(answer);
  const server = await listen(createServer(app));
  running.push(server);
  return async (target = "/") => {
    const response = await fetch(server.url + target);
    const body = await response.text();
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    const seen = [...response.headers].filter(([name]) => /ratelimit|retry-after/.test(name));
    const fields = seen.map(([name, value]) => [name, value.replace(/; ?pk=:[^:]*:/g, "")]);
    const plain = fields.map(([name, value]) => [name, value.replaceAll("; ", ";")]);
    return { status: response.status, body, fields: Object.fromEntries(plain) };
  };
}

interface Info {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
}

async function statuses(send: Send, ...targets: string[]): Promise<number[]> {
  const found = [];
  for (const target of targets) found.push((await send(target)).status);
  return found;
}

const times = (count: number, target = "/") => Array.from({ length: count }, () => target);
const broken = () => {
  throw new Error("broken");
};

/** Sends this many requests through a limiter of these options, and returns all that a client sees. */
const asks =
  (options: object, ...targets: string[]) =>
  async (make: Make) => {
    const send = await serve(make(options));
    const seen = [];
    for (const target of targets) seen.push(await send(target));
    return seen;
  };

const byQuery = (request: { query: { key?: string } }) => request.query.key as string;
const isGood = (request: { query: { good?: string } }) => request.query.good === "1";
const is200 = (_request: unknown, { statusCode }: { statusCode: number }) => statusCode === 200;
const draft8 = { standardHeaders: "draft-8", legacyHeaders: false, keyGenerator: () => "a" };

type Behaviour = readonly [name: string, observe: (make: Make) => unknown];
const behaviours: Behaviour[] = [
  [
    "options are left as they were",
    (make) => {
      const options = Object.freeze({ limit: 1 });
      make(options);
      return options;
    },
  ],
  ["the first request passes", asks({ limit: 1 }, "/")],
  ["requests beyond the limit are refused", asks({ limit: 2 }, ...times(3))],
  [
    "a caller passes again when its window is over, time after time",
    async (make) => {
      const send = await serve(make({ limit: 2, windowMs: 1_000 }));
      const seen = [];
      for (let window = 0; window < 3; window++) {
        seen.push(await statuses(send, ...times(3)));
        pass(1_000);
      }
      return seen;
    },
  ],
  ["a message of one's own", asks({ limit: 1, message: "slower" }, ...times(2))],
  ["a status of one's own", asks({ limit: 1, statusCode: 420 }, ...times(2))],
  ["a message as JSON", asks({ limit: 1, message: { error: { code: 7 } } }, ...times(2))],
  ["a message by a function", asks({ limit: 1, message: () => "slower" }, ...times(2))],
  ["a message by a promise", asks({ limit: 1, message: async () => "slower" }, ...times(2))],
  [
    "a handler of one's own",
    asks({ limit: 1, handler: (_q: unknown, r: { end(t: string): void }) => r.end("x") }, "/", "/"),
  ],
  [
    "keys of one's own",
    asks(
      { limit: 2, keyGenerator: byQuery },
      ...["1", "1", "2", "1", "2", "2"].map((key) => `/?key=${key}`),
    ),
  ],
  ["skipping", asks({ limit: 1, skip: () => true }, ...times(3))],
  ["skipping by a promise", asks({ limit: 1, skip: async () => true }, ...times(3))],
  ["a limit by a function", asks({ limit: () => 2 }, ...times(3))],
  ["a limit by a promise", asks({ limit: async () => 2 }, ...times(3))],
  ["the default of 5", asks({}, ...times(6))],
  [
    "resetting a key",
    async (make) => {
      const limiter = make({ limit: 1, keyGenerator: () => "a" });
      const send = await serve(limiter);
      const before = await statuses(send, ...times(2));
      await limiter.resetKey("a");
      return [before, await statuses(send, ...times(2))];
    },
  ],
  [
    "reading a key",
    async (make) => {
      const limiter = make({ limit: 3, keyGenerator: () => "a" });
      const send = await serve(limiter);
      await statuses(send, ...times(2));
      return [await limiter.getKey("a"), await limiter.getKey("b")];
    },
  ],
  ["successes that are not counted", asks({ limit: 1, skipSuccessfulRequests: true }, ...times(3))],
  ["failures beside them", asks({ limit: 1, skipSuccessfulRequests: true }, "/error", "/error")],
  [
    "failures that are not counted",
    asks({ limit: 1, skipFailedRequests: true }, ...times(3, "/error")),
  ],
  ["successes beside them", asks({ limit: 1, skipFailedRequests: true }, "/", "/")],
  [
    "a handler that crashed as a failure",
    asks({ limit: 1, skipFailedRequests: true }, ...times(3, "/crash")),
  ],
  ["a refusal as a failure", asks({ limit: 1, skipFailedRequests: true }, ...times(3))],
  ...[isGood, is200, async () => false].flatMap((requestWasSuccessful): Behaviour[] => [
    [
      `success by ${requestWasSuccessful.name || "a promise"}, successes not counted`,
      asks(
        { limit: 1, skipSuccessfulRequests: true, requestWasSuccessful },
        "/?good=1",
        "/",
        "/error",
      ),
    ],
    [
      `success by ${requestWasSuccessful.name || "a promise"}, failures not counted`,
      asks({ limit: 1, skipFailedRequests: true, requestWasSuccessful }, "/error", "/?good=1", "/"),
    ],
  ]),
  ["an error of the handler, for Express", asks({ limit: 1, handler: broken }, ...times(2))],
  ["an error of skip, for Express", asks({ skip: broken }, "/")],
  ["an error of keyGenerator, for Express", asks({ keyGenerator: broken }, "/")],
  ["what handlers find on the request", asks({ limit: 6 }, ...times(2, "/info"))],
  ["the same by another name", asks({ requestPropertyName: "quota" }, ...times(2, "/info"))],
  [
    "two limiters with properties of their own",
    async (make) => {
      const limiters = [
        make({ limit: 2, requestPropertyName: "quota", keyGenerator: byQuery }),
        make({ limit: 5, keyGenerator: () => "all" }),
      ];
      const send = await serve(...limiters);
      const seen = [];
      for (const key of [1, 2, 1, 2, 1, 3, 3]) seen.push(await send(`/info?key=${key}`));
      return seen;
    },
  ],
  ["the legacy headers", asks({ limit: 5, legacyHeaders: true }, "/")],
  ["those of draft 6", asks({ limit: 5, standardHeaders: true }, "/")],
  ["those of draft 7", asks({ limit: 5, standardHeaders: "draft-7" }, "/")],
  ["those of draft 8", asks({ limit: 5, windowMs: 7_200_000, ...draft8 }, "/")],
  ["those of draft 8 with a name", asks({ limit: 5, identifier: "calm", ...draft8 }, "/")],
  [
    "those of draft 8 of several limiters",
    async (make) => {
      const sizes = [5_000, 60_000, 3_600_000, 86_400_000, 172_800_000];
      const limiters = sizes.map((windowMs, i) => make({ limit: 4 + i, windowMs, ...draft8 }));
      return (await serve(...limiters))();
    },
  ],
  ["Retry-After", asks({ limit: 1, windowMs: 60_000 }, ...times(2))],
  ["no Retry-After without headers", asks({ limit: 1, legacyHeaders: false }, ...times(2))],
  ["the former name of legacyHeaders", asks({ limit: 1, headers: false }, "/")],
  ["the former name of limit", asks({ max: 1 }, ...times(2))],
  [
    "no headers of its own after the headers were sent",
    async (make) => {
      const begin: RequestHandler = (_request, response, next) => {
        response.flushHeaders();
        next();
      };
      return (await serve(begin, make({ limit: 1 })))("/end");
    },
  ],
  [
    "an invalid store",
    (make) => {
      try {
        make({ store: { invalid: true } });
      } catch (error) {
        return /store/.test((error as Error).message);
      }
      return false;
    },
  ],
];

const observed = (options: object) => ({ windowMs: 60_000, standardHeaders: false, ...options });
const theirs: Make = (options = {}) =>
  original({ ...observed(options), validate: false } as object) as unknown as Limiter;
const makes: [string, Make][] = [
  ["ours", (options = {}) => rateLimit({ ...observed(options), clock }) as unknown as Limiter],
  [
    "the original over our store",
    (options = {}) => theirs({ store: expressRateLimitStore({ clock }), ...options }),
  ],
];

describe.each(makes)("what express-rate-limit tests is the same in %s:", (_name, make) => {
  it.each(behaviours)("%s", async (_behaviour, observe) => {
    const startMs = clock.now();
    const wanted = await observe(theirs);
    // Both see the same time, so that headers with a time can be compared.
    clock.set(startMs);
    vi.setSystemTime(startMs);
    expect(JSON.stringify(await observe(make))).toBe(JSON.stringify(wanted));
  });
});

describe("ipKeyGenerator is the same as that of express-rate-limit for", () => {
  it.each([
    ["1.2.3.4", 16],
    ["::ffff:1.2.3.4", 56],
    ["::ffff:1.2.3.4", false],
    ["::ffff:102:304", 56],
    ["2001:db8:1234:5678::1.2.3.4", 56],
    ["64:ff9b::1.2.3.4", 56],
    ["::1", 56],
    ["0123:4567:89ab:cdef:0123:4567:89ab:cdef", 56],
    ["0123:4567:89ab:cdef:0123:4567:89ab:cdef", 63],
    ["123:ABC::89", 56],
  ] as const)("%s with %s bits", (ip, bits) => {
    expect(ipKeyGenerator(ip, bits)).toBe(originalIpKey(ip, bits));
  });
});

describe("what express-rate-limit tests is different in ours:", () => {
  it("an unknown draft of the headers is an error, not a limiter without headers", () => {
    expect(() => rateLimit({ standardHeaders: "draft-99" as never })).toThrow("must be one of");
  });

  it("a limit of 0 refuses without headers: no wait would help", async () => {
    const { status, fields } = await (await serve(rateLimit({ limit: 0 })))();
    expect([status, fields]).toEqual([429, {}]);
  });

  it("a store of theirs is an error that says what to do", () => {
    const store = { increment: () => {}, decrement: () => {}, resetKey: () => {} };
    expect(() => rateLimit({ store: store as never })).toThrow("expressRateLimitStore");
  });

  it("all bits of an IPv6 address are written without /128, however it was written", () => {
    const ip = "0123:4567:89ab:cdef:0123:4567:89ab:cdef";
    for (const bits of [128, false] as const) {
      expect(ipKeyGenerator(ip, bits)).toBe("123:4567:89ab:cdef:123:4567:89ab:cdef");
    }
  });
});
