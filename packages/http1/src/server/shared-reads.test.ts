// Bytes of several connections that are read into the same memory, over real sockets.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { connectTo, onStop, stopAll } from "sluice-test-servers";
import { afterEach, expect, it } from "vitest";
import { listen } from "../../test/listen.js";
import type { Exchange } from "./exchange.js";
import { Http1Server } from "./server.js";
import { readShared } from "./shared-reads.js";

afterEach(stopAll);

/** Answers with the target and the body, once that is whole. */
async function startEcho(): Promise<string> {
  const onExchange = (exchange: Exchange) => {
    const { body, target } = exchange;
    const answer = () => exchange.reply(200, "", `[${target} ${body?.held.toString() ?? ""}]`);
    if (body === undefined) setTimeout(answer, 20);
    else body.whenHeld(1_000, answer);
  };
  const bounds = { headBytesMax: 16_384, fieldsMax: 100, headMsMax: 10_000, requestMsMax: 60_000 };
  const server = new Http1Server(
    { ...bounds, keepAliveMs: 65_000, connectionsMax: 100 },
    { onExchange, toRefusal: (status) => `HTTP/1.1 ${status} Problem\r\n\r\n` },
  );
  onStop(() => server.close());
  return listen(server);
}

const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (target: string, framing: string) =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`;

// Each is sent in pieces, and between them another connection overwrites the memory.
it.each([
  ["a head", ["GET /in-", "pieces HTTP/1.1\r\nHo", "st: a\r\n\r\n"], "[/in-pieces ]"],
  ["a body", [`${post("/b", "Content-Length: 9")}abc`, "def", "ghi"], "[/b abcdefghi]"],
  [
    "a chunked body",
    [`${post("/c", "Transfer-Encoding: chunked")}3\r\nabc\r\n`, "2\r\nde\r\n", "0\r\n\r\n"],
    "[/c abcde]",
  ],
  ["requests sent ahead", [get("/1") + get("/2") + get("/3"), ""], "[/3 ]"],
])("%s keeps its bytes while other connections are read from", async (_, pieces, answer) => {
  const url = await startEcho();
  const [client, other] = [await connectTo(url), await connectTo(url)];
  onStop(() => client.end());
  onStop(() => other.end());
  for (const [i, piece] of pieces.entries()) {
    client.send(piece);
    const target = `/${"x".repeat(500)}${i}`;
    await other.send(get(target)).until((text) => text.includes(`[${target} ]`));
  }
  expect(await client.until((text) => text.endsWith(answer))).toContain(answer);
});

it("reads accepted sockets of this version of Node past their stream, and stops while they are paused", async () => {
  const accepted = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(accepted, "listening");
  onStop(() => void accepted.close());
  const client = connect((accepted.address() as AddressInfo).port, "127.0.0.1");
  onStop(() => void client.destroy());
  const [socket] = (await once(accepted, "connection")) as [Socket];
  const seen: string[] = [];
  const hasSeen = (count: number) => expect.poll(() => seen.length, { timeout: 5_000 }).toBe(count);
  expect(readShared(socket, (bytes) => void seen.push(bytes.toString()))).toBe(true);
  socket.resume();
  client.write("one");
  await hasSeen(1);
  socket.pause();
  client.write("two");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(seen).toEqual(["one"]);
  socket.resume();
  await hasSeen(2);
  expect(seen).toEqual(["one", "two"]);
  client.end();
  await once(socket, "end");
});

it("says so where it can't: what is not a plain socket is read by its events", () => {
  expect(readShared(new PassThrough() as unknown as Socket, () => {})).toBe(false);
});
