// Clients that disconnect at every point of a request, and what their requests held: it all comes back.

import { connectTo, type RawClient } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayFixture, type Responder, startFixture } from "../gateway-fixture.js";

const PLACES = 8;
const RULE = {
  id: "places",
  key: "global",
  limit: { concurrency: { limit: PLACES, permitMs: 3_600_000 } },
};

let fixture: GatewayFixture;
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await fixture.close();
});

/** `/wait` is never answered, `/half` by half, `/drip` without end; the rest immediately. */
const answer: Responder = ({ url }, response) => {
  if (url === "/wait") return;
  if (url === "/half") response.writeHead(200, { "Content-Length": "10" }).write("half");
  else if (url === "/drip") {
    response.on("drain", () => response.write("x".repeat(65_536)));
    while (response.write("x".repeat(65_536)));
  } else response.end("ok");
};

async function send(text: string): Promise<RawClient> {
  const client = await connectTo(fixture.url);
  clients.push(client);
  return client.send(text);
}

function get(path: string, fields = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: example.com\r\n${fields}\r\n`;
}

function post(body: string): string {
  return `POST /a HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\n${body}`;
}

/** How many places are taken, as the policy has it. */
async function taken(): Promise<number> {
  const { remaining } = await fixture.core.policy.peek({ method: "GET", path: "/" });
  return PLACES - remaining;
}

async function untilTaken(count: number): Promise<void> {
  let now = -1;
  for (let i = 0; i < 1_000 && now !== count; i++) {
    now = await taken();
    if (now !== count) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(now).toBe(count);
}

const UNDER_WAY: readonly (readonly [string, string])[] = [
  ["waits for the head of the response", get("/wait")],
  ["has half of the response", get("/half")],
  ["does not read the response", get("/drip")],
  ["has sent half of its body", post("half")],
  ["has sent nothing of its body", post("")],
];

describe.each(UNDER_WAY)("a client that %s", (_, text) => {
  it.each(["reset", "end", "destroy"] as const)("releases its place by %s", async (how) => {
    fixture = await startFixture({
      rules: [RULE],
      answer,
      gateway: { requestTimeoutMs: 4_000 },
      upstream: { responseTimeoutMs: 4_000, idleTimeoutMs: 4_000 },
    });
    const open = await Promise.all(Array.from({ length: PLACES }, () => send(text)));
    await untilTaken(PLACES);
    if (text === get("/drip")) for (const { socket } of open) socket.pause();
    expect(await (await send(get("/a"))).until((got) => got.includes("\r\n\r\n"))).toMatch(
      /^HTTP\/1.1 429/,
    );
    for (const { socket } of open) {
      if (how === "reset") socket.resetAndDestroy();
      else if (how === "destroy") socket.destroy();
      else socket.end();
    }
    await untilTaken(0);
    expect(await (await send(get("/a"))).until((got) => got.endsWith("ok"))).toMatch(
      /^HTTP\/1.1 200/,
    );
  });
});

describe("clients that pipeline and hang up", () => {
  it("release the place of the first, and take none for those whose turn never came", async () => {
    fixture = await startFixture({ rules: [RULE], answer });
    const client = await send(get("/wait") + get("/half") + get("/a") + get("/wait"));
    await untilTaken(1);
    client.socket.resetAndDestroy();
    await untilTaken(0);
  });
});

describe("a thousand clients that hang up at random points", () => {
  it("leave no place taken", async () => {
    fixture = await startFixture({ rules: [RULE], answer });
    const texts = [
      get("/wait"),
      get("/half"),
      get("/a"),
      post("x"),
      get("/a") + get("/wait"),
      "GET /a HT",
      "",
      // An upgrade, one with frames sent ahead, leave to send a body, a broken body, a last request.
      get("/wait", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
      `${get("/a", "Connection: Upgrade\r\nUpgrade: websocket\r\n")}early`,
      post("").replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"),
      `${post("").replace("Content-Length: 100", "Transfer-Encoding: chunked")}1\r\nx\r\nzz`,
      get("/half", "Connection: close\r\n") + get("/wait"),
    ];
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const client = await send(texts[(round + i) % texts.length]);
          // Some disconnect immediately, some after a turn or two of the event loop.
          for (let turn = 0; turn < (round * i) % 4; turn++)
            await new Promise((resolve) => setImmediate(resolve));
          if (i % 2 === 0) client.socket.resetAndDestroy();
          else client.socket.destroy();
        }),
      );
    }
    await untilTaken(0);
  });
});
