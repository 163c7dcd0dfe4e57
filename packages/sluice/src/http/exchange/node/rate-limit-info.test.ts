import { createServer, IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import { fixedWindow } from "../../../limits/limits.js";
import { rateLimit } from "../../adapters/express/express.js";
import type { RateLimitInfo } from "../../handler/handled-request.js";
import { InfoProperty } from "./rate-limit-info.js";

const running: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(app: express.Express): Promise<string> {
  const server = createServer(app);
  running.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const three = fixedWindow({ limit: 3, windowMs: 60_000 });

describe("what handlers of Express find on a request", () => {
  it("is of that request alone, also while others are under way", async () => {
    const app = express();
    const waiting: (() => void)[] = [];
    app.use("/limited", rateLimit({ limit: three }));
    app.get("/limited", (request, response) => {
      waiting.push(() => response.json(request.rateLimit?.remaining));
    });
    app.get("/free", (request, response) => {
      response.json({ has: request.rateLimit !== undefined });
    });
    const url = await serve(app);
    const answers = [fetch(`${url}/limited`), fetch(`${url}/limited`)];
    while (waiting.length < 2) await new Promise(setImmediate);
    expect(await (await fetch(`${url}/free`)).json()).toEqual({ has: false });
    for (const answer of waiting.reverse()) answer();
    const infos = await Promise.all(answers.map(async (answer) => (await answer).json()));
    expect(infos.toSorted()).toEqual([1, 2]);
  });

  it("is seen behind an app that was mounted, and by each of two names", async () => {
    const app = express();
    const mounted = express();
    mounted.use(rateLimit({ limit: three, requestPropertyName: "inner" }));
    app.use(rateLimit({ limit: fixedWindow({ limit: 9, windowMs: 60_000 }) }));
    app.use(mounted);
    app.get("/", (request, response) => {
      const { inner } = request as { inner?: RateLimitInfo };
      response.json([inner?.limit, request.rateLimit?.limit]);
    });
    const url = await serve(app);
    expect(await (await fetch(url)).json()).toEqual([3, 9]);
  });

  it("gives way to what a handler puts in its place", async () => {
    const app = express();
    app.use(rateLimit({ limit: three }));
    app.get("/", (request, response) => {
      Object.assign(request, { rateLimit: "mine" });
      response.json(request.rateLimit);
    });
    expect(await (await fetch(await serve(app))).json()).toBe("mine");
  });
});

describe("the property", () => {
  const info = {} as RateLimitInfo;

  it("is the request's own where no framework stands between it and Node", () => {
    const request = new IncomingMessage(undefined as unknown as Socket);
    new InfoProperty("rateLimit").set(request, info);
    expect(Object.getOwnPropertyDescriptor(request, "rateLimit")?.value).toBe(info);
    const bare = {};
    new InfoProperty("rateLimit").set(bare, info);
    expect(bare).toEqual({ rateLimit: info });
  });

  it("leaves a property of that name alone that a framework has", () => {
    const shared = Object.create(IncomingMessage.prototype, {
      limit: { get: () => "the framework's", set() {}, configurable: true },
    });
    const request = Object.create(shared);
    new InfoProperty("limit").set(request, info);
    expect(request.limit).toBe("the framework's");
  });
});
