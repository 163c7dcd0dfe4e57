// One client that asks for more at once than anybody should: what it takes is bounded, and others are served.

import { afterEach, describe, expect, it } from "vitest";
import { type GatewayStand, startStand } from "../gateway-stand.js";
import { connectTo, type RawClient } from "../raw-client.js";

const MANY = 2_000;

let stand: GatewayStand;
let client: RawClient;
afterEach(async () => {
  client.end();
  await stand.close();
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

describe(`a client that pipelines ${MANY} requests`, () => {
  it("gets all its answers in order, over one connection at a time, and others are served meanwhile", async () => {
    stand = await startStand({ upstream: { connectionsMax: 4, waitingMax: 8 } });
    client = await connectTo(stand.url);
    const { statuses, done } = countAnswers(MANY);
    client.send(Array.from({ length: MANY }, (_, i) => get(`/many/${i}`)).join(""));
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    let served = 0;
    while (!isDone) {
      expect((await fetch(`${stand.url}/good`)).status).toBe(200);
      served++;
    }
    expect(statuses.every((status) => status === "200")).toBe(true);
    expect(served).toBeGreaterThan(3);
    const seen = stand.upstream.begun.filter((path) => path.startsWith("/many"));
    expect(seen).toEqual(Array.from({ length: MANY }, (_, i) => `/many/${i}`));
  });

  it("is not read from while its first one waits, and leaves nothing behind when it goes", async () => {
    const places = {
      id: "places",
      key: "global",
      limit: { concurrency: { limit: 10, permitMs: 3_600_000 } },
    };
    stand = await startStand({
      rules: [places],
      answer: () => {},
      upstream: { responseTimeoutMs: 1_000 },
    });
    client = await connectTo(stand.url);
    client.send(get("/wait").repeat(500 * MANY));
    const taken = async () =>
      10 - (await stand.core.policy.peek({ method: "GET", path: "/" })).remaining;
    for (let i = 0; i < 500 && (await taken()) === 0; i++)
      await new Promise((r) => setTimeout(r, 10));
    expect(await taken()).toBe(1);
    // 43 megabytes: what was not read waits at the client.
    expect(client.socket.bytesWritten).toBeGreaterThan(40_000_000);
    expect(client.socket.writableLength).toBeGreaterThan(30_000_000);
    client.socket.resetAndDestroy();
    for (let i = 0; i < 1_000 && (await taken()) > 0; i++)
      await new Promise((r) => setTimeout(r, 10));
    expect(await taken()).toBe(0);
  });
});
