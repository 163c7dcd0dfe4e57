// One client that sends more requests together than any client should: what it takes is bounded, and others are served.

import { connectTo, type RawClient } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

const REQUESTS = 256;

let fixture: GatewayFixture;
let client: RawClient;
afterEach(async () => {
  client.end();
  await fixture.close();
});

/** Counts answers as they come, instead of keeping them. */
function countAnswers(count: number): { statuses: string[]; done: Promise<void> } {
  const statuses: string[] = [];
  let tail = "";
  const done = new Promise<void>((resolve) => {
    client.socket.removeAllListeners("data").on("data", (piece: string) => {
      const text = tail + piece;
      for (const [, status = ""] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) statuses.push(status);
      // Too short to hold a status line that was counted.
      tail = text.slice(-12);
      if (statuses.length === count) resolve();
    });
  });
  return { statuses, done };
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: example.com\r\n\r\n`;
}

describe(`a client that pipelines ${REQUESTS} requests`, () => {
  it("gets all its answers in order, one after the other, and others are served meanwhile", async () => {
    fixture = await startFixture({ upstream: { connectionsMax: 4, waitingMax: 8 } });
    client = await connectTo(fixture.url);
    const { statuses, done } = countAnswers(REQUESTS);
    const paths = Array.from({ length: REQUESTS }, (_, i) => `/many/${i}`);
    client.send(paths.map(get).join(""));
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) expect((await fetch(`${fixture.url}/good`)).status).toBe(200);
    expect(statuses.every((status) => status === "200")).toBe(true);
    expect(fixture.upstream.begun.filter((path) => path !== "/good")).toEqual(paths);
  });
});

describe("a client that pipelines a million requests", () => {
  it("is not read any further while the first is under way, and leaves nothing behind", async () => {
    const limit = { concurrency: { limit: 10, permitMs: 3_600_000 } };
    const rules = [{ id: "places", key: "global", limit }];
    fixture = await startFixture({
      rules,
      upstream: { responseTimeoutMs: 3_000 },
      answer: ({ url }, response) => void (url === "/wait" || response.end(url)),
    });
    client = await connectTo(fixture.url);
    const { socket } = client;
    const text = get("/wait").repeat(2_000);
    // As much as goes out; kernels take some of it, and the rest stays with the client.
    for (let i = 0; i < 500; i++) client.send(text);
    let [sent, before] = [0, -1];
    while (sent !== before) {
      expect(await (await fetch(`${fixture.url}/good`)).text()).toBe("/good");
      await new Promise((resolve) => setTimeout(resolve, 100));
      before = sent;
      sent = socket.bytesWritten - socket.writableLength;
    }
    expect(sent).toBeLessThan(KERNEL_BYTES_MAX);
    expect(socket.writableLength).toBeGreaterThan(30_000_000 - KERNEL_BYTES_MAX);
    expect(client.text).toBe("");
    expect(fixture.upstream.begun.filter((path) => path === "/wait")).toHaveLength(1);
    expect(await untilFree(9)).toBe(9);
    client.end();
    expect(await untilFree(10)).toBe(10);
  });
});

describe("a client that never reads what it is refused with", () => {
  it("is refused no more than the buffers hold, and cut off", async () => {
    const limit = { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } };
    const rules = [{ id: "one", key: "global", match: { path: "/never" }, limit }];
    fixture = await startFixture({ rules, gateway: { keepAliveMs: 1_000 } });
    client = await connectTo(fixture.url);
    const { socket } = client;
    socket.pause();
    const text = get("/never").repeat(2_000);
    // Not bytesWritten: once a socket is destroyed, that counts what was never sent.
    let sentBytes = 0;
    for (let i = 0; i < 500; i++) {
      socket.write(text, (error) => {
        if (!error) sentBytes += text.length;
      });
    }
    await client.closed();
    expect(sentBytes).toBeLessThan(KERNEL_BYTES_MAX);
    expect(await (await fetch(`${fixture.url}/good`)).text()).toBe("/good");
  });
});

/** More than the buffers of two kernels hold on loopback, and less than a third of what is sent. */
const KERNEL_BYTES_MAX = 12_000_000;

/** How many places are free, once they are `count`, or after ten seconds. */
async function untilFree(count: number): Promise<number> {
  let free = -1;
  for (let i = 0; i < 1_000 && free !== count; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    ({ remaining: free } = await fixture.core.policy.peek({ method: "GET", path: "/" }));
  }
  return free;
}
