import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { describe, expect, it, vi } from "vitest";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import { type FrameworkHarness, listen, toBody } from "../../../../test/http/framework-harness.js";
import { concurrency, fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { parseRules } from "../../../rules/parse/parse.js";
import { createPolicy } from "../../../rules/policy/create-policy.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { cloudflarePeer, rateLimit } from "./fetch.js";

const fetchHandler: FrameworkHarness = {
  name: "a fetch handler",
  without: {
    "adds its headers to the framework's response to an error":
      "the runtime makes that response after the handler has thrown",
    "lets a client that waits for leave send the body that a rule needs":
      "it is the runtime that gives leave: a Request has no way to",
  },
  start: ([first, second], handle) => {
    const limit = rateLimit(first as never, second as never);
    const handler = limit.wrap(async (request, _info: unknown) => {
      const { pathname, search } = new URL(request.url);
      const {
        status = 200,
        headers = {},
        body,
      } = await handle({
        method: request.method,
        target: pathname + search,
        text: () => request.text(),
        rateLimit: limit.infoOf(request),
      });
      return new Response(toBody(body), { status, headers });
    });
    const route = (request: Request, info: unknown) =>
      new URL(request.url).pathname === "/rate_limit"
        ? limit.status(request, info)
        : handler(request, info);
    const onError = () => new Response("Internal Server Error", { status: 500 });
    return listen(createServer(getRequestListener(route, { errorHandler: onError })));
  },
};

describeFramework(fetchHandler);

const one = () => fixedWindow({ limit: 1, windowMs: 60_000 });
const address = "http://api.example.com/";
const info = { remoteAddr: { hostname: "203.0.113.1" } };

describe("a wrapped handler", () => {
  it("answers synchronously what memory and its handler decide synchronously", () => {
    const limited = rateLimit({ limit: one() }).wrap(
      (_request, _info: object) => new Response("ok"),
    );
    const answers = [limited(new Request(address), info), limited(new Request(address), info)];
    expect(answers.map((answer) => (answer as Response).status)).toEqual([200, 429]);
  });

  it("gets everything that the runtime passes, and so does `peer`", async () => {
    const seen: unknown[] = [];
    const peer = (_request: Request, ...rest: readonly unknown[]) => {
      seen.push(rest);
      return "203.0.113.1";
    };
    const limited = rateLimit({ limit: one(), peer }).wrap(
      (_request, env: string, context: number) => new Response(`${env} ${context}`),
    );
    expect(await (await limited(new Request(address), "env", 7)).text()).toBe("env 7");
    expect(seen).toEqual([["env", 7]]);
  });

  it("throws what its handler throws, synchronously or later, and releases permits", async () => {
    const limit = rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }) });
    const throwing = limit.wrap((_request, _info: object) => {
      throw new Error("synchronously");
    });
    const rejecting = limit.wrap(async (_request, _info: object) => {
      throw new Error("later");
    });
    const senseless = limit.wrap((_request, _info: object) => undefined as never);
    for (let i = 0; i < 2; i++) {
      expect(() => throwing(new Request(address), info)).toThrow("synchronously");
      await expect(rejecting(new Request(address), info)).rejects.toThrow("later");
      expect(() => senseless(new Request(address), info)).toThrow(TypeError);
    }
  });

  it("copies an answer whose headers can't be written, and leaves alone what can't be copied", async () => {
    const answers = [Response.redirect("http://www.example.com/", 302), Response.error()];
    const limit = rateLimit({ limit: fixedWindow({ limit: 9, windowMs: 1000 }) });
    const limited = limit.wrap((_request, _info: object) => answers.shift() as Response);
    const redirect = await limited(new Request(address), info);
    expect([redirect.status, redirect.headers.has("ratelimit")]).toEqual([302, true]);
    expect((await limited(new Request(address), info)).type).toBe("error");
  });

  it("releases a permit immediately if its client was gone before it came", async () => {
    const limited = rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }) });
    await limited(new Request(address, { signal: AbortSignal.abort() }), info);
    expect((await limited(new Request(address), info)).response).toBeUndefined();
  });

  it("does not run its handler for a client that is gone before its turn", async () => {
    const clock = new ManualClock();
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 1 });
    const handler = vi.fn((_request: Request, _info: object) => new Response("ok"));
    const limited = rateLimit({ limit, clock, onExceed: "delay", delayMsMax: 5_000 }).wrap(handler);
    await limited(new Request(address), info);
    const controller = new AbortController();
    const waiting = limited(new Request(address, { signal: controller.signal }), info);
    controller.abort();
    expect((await waiting).status).toBe(499);
    expect(handler).toHaveBeenCalledTimes(1);
  });
});

describe("a handled request by hand", () => {
  it("says what to send, or adds the headers to what is sent", async () => {
    const limit = rateLimit({ limit: one(), clock: new ManualClock() });
    const first = await limit(new Request(address), info);
    expect(first.response).toBeUndefined();
    expect(first.info).toMatchObject({ limit: 1, used: 1, remaining: 0 });
    expect(first.finish(new Response("ok")).headers.get("ratelimit")).toBe('"default";r=0;t=60');
    const second = await limit(new Request(address), info);
    expect(second.response?.status).toBe(429);
    expect(second.response?.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(second.response?.headers.get("ratelimit")).toMatch(/^"default";r=0;t=\d+$/);
  });

  it("counts by the response's status, and by the headers that settle a cost", async () => {
    const limit = tokenBucket({ capacity: 100, refillPerSecond: 1 });
    const clock = new ManualClock();
    const limited = rateLimit({ limit, clock, settle: { header: "x-cost" } });
    const handled = await limited(new Request(address), info);
    await handled.finish(new Response("ok", { headers: { "x-cost": "40" } })).text();
    expect((await limited(new Request(address), info)).info.remaining).toBe(59);
  });
});

describe("a runtime that shows no address", () => {
  it("is reported once, and the rule's onMissing decides", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const limit = rateLimit({ limit: one() });
      const counted = [await limit(new Request(address)), await limit(new Request(address))];
      expect(counted.map(({ response }) => response?.status)).toEqual([403, 403]);
      const skipping = rateLimit({ limit: one(), onMissing: "skip" });
      expect((await skipping(new Request(address))).response).toBeUndefined();
      expect(warn).toHaveBeenCalledTimes(2);
      expect(warn.mock.calls[0][0]).toMatch(/does not provide one: pass the option peer/);
    } finally {
      warn.mockRestore();
    }
  });

  it("is not reported where no rule counts by address", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      await rateLimit({ limit: one(), key: "header:x-id" })(
        new Request(address, { headers: { "x-id": "7" } }),
      );
      expect(warn).not.toHaveBeenCalled();
    } finally {
      warn.mockRestore();
    }
  });

  it("may have it in a header that is trusted by being named", async () => {
    const limit = rateLimit({ limit: one(), peer: cloudflarePeer });
    const from = async (client: string) => {
      const headers = { "cf-connecting-ip": client };
      return (await limit(new Request(address, { headers }))).response?.status;
    };
    expect(await from("203.0.113.1")).toBeUndefined();
    expect(await from("203.0.113.2")).toBeUndefined();
    expect(await from("203.0.113.1")).toBe(429);
  });
});

describe("options of fetch handlers", () => {
  const policy = () => createPolicy({ rules: parseRules({ version: 1, rules: [] }) });
  it.each<[string, () => unknown, RegExp]>([
    [
      "a peer that is not a function",
      () => rateLimit({ limit: one(), peer: "x" as never }),
      /peer must be a function, got "x"/,
    ],
    [
      "the same beside a policy",
      () => rateLimit(policy(), { peer: 7 as never }),
      /peer must be a function, got 7/,
    ],
    [
      "a misspelt option",
      () => rateLimit({ limit: one(), peers: 1 } as never),
      /unknown option "peers"/,
    ],
    [
      "a misspelt option beside a policy",
      () => rateLimit(policy(), { peers: 1 } as never),
      /unknown option "peers"/,
    ],
    [
      "two sets of options",
      () => rateLimit({ limit: one() } as never, {} as never),
      /options alone/,
    ],
    ["nothing", () => rateLimit(undefined as never), /needs an object of options, got undefined/],
    ["text", () => rateLimit("fast" as never), /needs an object of options, got "fast"/],
  ])("refuse %s", (_name, make, message) => {
    expect(make).toThrow(message);
  });
});

describe("what a fetch handler loads", () => {
  it.each(["fetch/fetch.ts", "hono/hono.ts"])(
    "is, for %s, nothing of Node but node:crypto",
    (file) => {
      const loaded = [...outsideOf(join(import.meta.dirname, "..", file))];
      expect(loaded.filter((name) => name.startsWith("node:"))).toEqual(["node:crypto"]);
      expect(loaded).not.toContain("jose");
    },
  );
});

/** What a module and all that it imports load from outside; imports of types are gone by then. */
function outsideOf(file: string, seen = new Set<string>(), found = new Set<string>()): Set<string> {
  if (seen.has(file)) return found;
  seen.add(file);
  const loads = /^(?:import|export)\s+(?!type\b)(?:[^"';]*?from\s+)?"([^"]+)"/gm;
  for (const [, name] of readFileSync(file, "utf8").matchAll(loads)) {
    if (name.startsWith("."))
      outsideOf(join(dirname(file), name.replace(/\.js$/, ".ts")), seen, found);
    else found.add(name);
  }
  return found;
}
