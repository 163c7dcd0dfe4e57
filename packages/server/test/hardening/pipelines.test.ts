// One client that asks for more at once than anybody should: what it takes is bounded, and others are served.

import { afterEach, describe, expect, it } from "vitest";
import { PIPELINED_MAX } from "../../src/http/turns.js";
import { type GatewayStand, startStand } from "../gateway-stand.js";
import { connectTo, type RawClient } from "../raw-client.js";

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

describe(`a client that pipelines ${PIPELINED_MAX} requests`, () => {
  it("gets all its answers in order, one after the other, and others are served meanwhile", async () => {
    stand = await startStand({ upstream: { connectionsMax: 4, waitingMax: 8 } });
    client = await connectTo(stand.url);
    const { statuses, done } = countAnswers(PIPELINED_MAX + 1);
    const paths = Array.from({ length: PIPELINED_MAX + 1 }, (_, i) => `/many/${i}`);
    client.send(paths.map(get).join(""));
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) expect((await fetch(`${stand.url}/good`)).status).toBe(200);
    expect(statuses.every((status) => status === "200")).toBe(true);
    expect(stand.upstream.begun.filter((path) => path !== "/good")).toEqual(paths);
  });
});

describe("a client that pipelines a million requests", () => {
  it("is cut off, having had one of them forwarded, and leaves nothing behind", async () => {
    const limit = { concurrency: { limit: 10, permitMs: 3_600_000 } };
    const rules = [{ id: "places", key: "global", limit }];
    stand = await startStand({ rules, answer: () => {} });
    client = await connectTo(stand.url);
    for (let i = 0; i < 500 && !client.isClosed; i++) client.send(get("/wait").repeat(2_000));
    await client.closed();
    expect(client.text).toBe("");
    expect(stand.upstream.begun.length).toBeLessThan(2);
    let remaining = 0;
    for (let i = 0; i < 500 && remaining < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      ({ remaining } = await stand.core.policy.peek({ method: "GET", path: "/" }));
    }
    expect(remaining).toBe(10);
  });
});
