// The listener itself: where it listens, how it drains and closes, and what it reports about its decisions.

import { Agent, request } from "node:http";
import { connect } from "node:net";
import { ForwardingStore, memoryStore, type Store } from "sluice";
import { afterEach, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../test/decision-listener.js";
import { ServerError } from "../base/errors.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import type { Telemetry } from "../telemetry/telemetry.js";

let test: TestListener | undefined;
afterEach(async () => {
  await test?.close();
  test = undefined;
});

const own = { limit: "5/minute", key: "user:42" };
const facts = { method: "GET", path: "/", ip: "203.0.113.10" };

/** A store that answers when the test lets it. */
class HeldStore extends ForwardingStore {
  readonly waiting: (() => void)[] = [];

  override async decideOne(...args: Parameters<ForwardingStore["decideOne"]>) {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return super.decideOne(...args);
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let looks = 0; !isSo(); looks++) {
    if (looks > 1_000) throw new Error("waited too long");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it("says where it listens, and fails with the address if it can't", async () => {
  test = await openTestListener();
  expect(test.listener.name).toBe("decision");
  expect(test.listener.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const port = Number(new URL(test.listener.url).port);
  const taken = openTestListener({ decision: { listen: { host: "127.0.0.1", port } } });
  await expect(taken).rejects.toThrow(ServerError);
  await expect(taken).rejects.toThrow(`127.0.0.1:${port}`);
});

describe("the head of an answer", () => {
  /** A head as it came, without what changes. */
  async function headOf(fields: string, version = "1.1"): Promise<readonly string[]> {
    const body = JSON.stringify({ ...own, cost: 0 });
    const { port } = new URL(test?.listener.url ?? "");
    const socket = connect(Number(port), "127.0.0.1");
    const head = `POST /v1/peek HTTP/${version}\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: ${body.length}\r\n${fields}\r\n${body}`);
    let text = "";
    for await (const piece of socket.setEncoding("utf8")) {
      text += piece;
      if (text.endsWith("}")) break;
    }
    socket.destroy();
    const [lines, answer] = text.split("\r\n\r\n");
    expect(lines).toContain(`Content-Length: ${answer.length}`);
    expect(new Date(/^Date: (.*)$/m.exec(lines)?.[1] ?? "").getTime()).toBeGreaterThan(0);
    return lines.split("\r\n").filter((line) => !/^(?:Date|Content-Length):/.test(line));
  }

  it("says whether its connection stays open, and how long", async () => {
    test = await openTestListener();
    const common = ["HTTP/1.1 200 OK", "Content-Type: application/json"];
    const open = [...common, "Connection: keep-alive", "Keep-Alive: timeout=65"];
    expect(await headOf("")).toEqual(open);
    expect(await headOf("Connection: keep-alive\r\n", "1.0")).toEqual(open);
    expect(await headOf("Connection: close\r\n")).toEqual([...common, "Connection: close"]);
    expect(await headOf("", "1.0")).toEqual([...common, "Connection: close"]);
  });

  it("comes once for each request of a connection that sends several together", async () => {
    test = await openTestListener();
    const body = JSON.stringify(own);
    const head = "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    const { port } = new URL(test.listener.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`.repeat(4));
    let text = "";
    for await (const piece of socket.setEncoding("utf8")) {
      text += piece;
      if ((text.match(/"source"/g)?.length ?? 0) === 4) break;
    }
    socket.destroy();
    const left = [...text.matchAll(/"remaining":(\d)/g)].map(([, remaining]) => remaining);
    expect(left).toEqual(["4", "3", "2", "1"]);
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(4);
  });
});

describe("draining", () => {
  it("answers what is under way, and takes no more", async () => {
    const store = new HeldStore(memoryStore());
    test = await openTestListener({ store });
    const { listener, post } = test;
    const first = post("/v1/check", own);
    await until(() => store.waiting.length === 1);
    let isDrained = false;
    const drained = listener.drain().then(() => {
      isDrained = true;
    });
    await expect(post("/v1/check", own)).rejects.toThrow();
    expect(isDrained).toBe(false);
    store.waiting[0]();
    expect(await first).toMatchObject({ status: 200, body: { remaining: 4 } });
    await drained;
  });

  it("answers a request that was on its way on an open connection, then closes that", async () => {
    test = await openTestListener();
    const { listener } = test;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = () =>
      new Promise<string | undefined>((resolve, reject) => {
        const asked = request(`${listener.url}/livez`, { agent }, (answer) => {
          answer.resume().once("end", () => resolve(answer.headers.connection));
        });
        asked.once("error", reject).end();
      });
    expect(await ask()).toBe("keep-alive");
    const drained = listener.drain();
    expect(await ask()).toBe("close");
    await drained;
    agent.destroy();
  });

  it("does not wait for connections that ask nothing", async () => {
    test = await openTestListener();
    const { port } = new URL(test.listener.url);
    const idle = connect(Number(port), "127.0.0.1");
    const ended = new Promise((resolve) => idle.once("close", resolve));
    await new Promise((resolve) => idle.once("connect", resolve));
    await test.get("/livez");
    await test.listener.drain();
    await ended;
  });

  it("may be followed by close, which may come twice", async () => {
    test = await openTestListener();
    await test.listener.drain();
    await test.listener.close();
    await test.listener.close();
  });
});

it("closes immediately what is under way", async () => {
  const store = new HeldStore(memoryStore());
  test = await openTestListener({ store });
  const asked = test.post("/v1/check", own);
  const failed = expect(asked).rejects.toThrow();
  await until(() => store.waiting.length === 1);
  await test.listener.close();
  await failed;
  store.waiting[0]();
});

it("goes on after a client that left in the middle of its body", async () => {
  test = await openTestListener();
  const { port } = new URL(test.listener.url);
  const socket = connect(Number(port), "127.0.0.1");
  const head = "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  socket.write(`${head}Content-Length: 100\r\n\r\n{"limit":`);
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.destroy();
  expect((await test.post("/v1/check", own)).body.remaining).toBe(4);
});

describe("telemetry", () => {
  it("receives decisions, refusals of forward-auth, and times", async () => {
    const events: string[] = [];
    const listeners: Partial<Telemetry> = {
      decided: (listener, { allowed, rule }, { path }, ms) =>
        events.push(
          `${listener} ${allowed} ${rule} ${path}${ms === undefined ? "" : " in its time"}`,
        ),
      decidedInline: (listener, key, cost, { allowed }) =>
        events.push(`${listener} ${allowed} inline ${key} ${cost}`),
      tookMs: (listener, ms) => events.push(`${listener} took ${ms >= 0}`),
      refused: (listener, status) => events.push(`${listener} ${status}`),
    };
    const telemetry = Object.assign(silentTelemetry(), listeners);
    const config = { identity: { trustedProxies: ["loopback"] } };
    test = await openTestListener({ telemetry, config });
    await test.post("/v1/check", { facts, cost: 10 });
    await test.post("/v1/check", { facts });
    await test.post("/v1/peek", { facts });
    const headers = {
      "x-forwarded-method": "GET",
      "x-forwarded-uri": "/x",
      "x-forwarded-for": facts.ip,
    };
    await test.get("/check", { headers });
    await test.post("/v1/check", { requests: [own, { ...own, cost: 6 }] });
    await test.post("/v1/reserve", own);
    expect(events).toEqual([
      "decision true per-address /",
      "decision took true",
      "decision false per-address /",
      "decision took true",
      "decision took true",
      "forward-auth false per-address /x in its time",
      "forward-auth 429",
      "decision true inline user:42 1",
      "decision false inline user:42 6",
      "decision took true",
      "decision true inline user:42 1",
      "decision took true",
    ]);
  });
});

it("answers over a store that answers later", async () => {
  class LateStore extends ForwardingStore {
    override async decideOne(...args: Parameters<ForwardingStore["decideOne"]>) {
      return super.decideOne(...args);
    }
    override async decide(...args: Parameters<Store["decide"]>) {
      return super.decide(...args);
    }
    override async peek(...args: Parameters<Store["peek"]>) {
      return super.peek(...args);
    }
    override async settle(...args: Parameters<Store["settle"]>) {
      return super.settle(...args);
    }
  }
  test = await openTestListener({ store: new LateStore(memoryStore()) });
  const { post } = test;
  const requests = [{ facts }, own, { facts: {} }, own];
  const { body } = await post("/v1/check", { requests });
  expect(body.answers).toMatchObject([
    { allowed: true, remaining: 9 },
    { allowed: true, remaining: 4 },
    { error: { field: "requests[2].facts.method" } },
    { allowed: true, remaining: 3 },
  ]);
  const { id } = (await post("/v1/reserve", { facts, cost: 3 })).body;
  expect((await post("/v1/cancel", { id })).status).toBe(200);
  expect((await post("/v1/peek", { facts })).body.remaining).toBe(9);
});
