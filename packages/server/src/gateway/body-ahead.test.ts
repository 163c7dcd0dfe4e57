// Bodies that are waited for: with a real server, since what counts is how Node's streams behave.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { connectTo, type RawClient } from "../../test/raw-client.js";
import { whenBodyIsAhead } from "./body-ahead.js";

let server: Server;
let client: RawClient;
afterEach(() => {
  client.end();
  server.close();
});

/** A server that answers with the length of the body, read after it was waited for. */
async function start(): Promise<{ arrived: Promise<IncomingMessage>; gone: () => boolean }> {
  let wentOn = false;
  let tell: (request: IncomingMessage) => void;
  const arrived = new Promise<IncomingMessage>((resolve) => {
    tell = resolve;
  });
  server = createServer((request, response) => {
    tell(request);
    whenBodyIsAhead(request, () => {
      wentOn = true;
      let bytes = 0;
      request.on("data", (piece: Buffer) => {
        bytes += piece.length;
      });
      request.on("end", () => response.end(`got ${bytes}`));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = await connectTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { arrived, gone: () => wentOn };
}

function post(length: number): string {
  return `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
}

/** Until the server has that much of the body. */
async function untilHeld(request: IncomingMessage, bytes: number): Promise<void> {
  for (let i = 0; i < 1_000 && request.readableLength < bytes; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(request.readableLength).toBe(bytes);
}

describe("whenBodyIsAhead", () => {
  it("waits for the last byte of a small body, and gives all of it to who reads then", async () => {
    const { arrived, gone } = await start();
    client.send(post(6));
    const request = await arrived;
    for (const piece of ["a", "b", "c", "d", "e"]) {
      const held = request.readableLength;
      client.send(piece);
      await untilHeld(request, held + 1);
      expect(gone()).toBe(false);
    }
    client.send("f");
    await client.until((text) => text.endsWith("got 6"));
  });

  it("goes on with a large body when its first part is there", async () => {
    const { arrived, gone } = await start();
    client.send(post(1_000_000)).send("x".repeat(200_000));
    await arrived;
    for (let i = 0; i < 1_000 && !gone(); i++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(gone()).toBe(true);
    client.send("x".repeat(800_000));
    await client.until((text) => text.endsWith("got 1000000"));
  });

  it("takes chunked and empty bodies, one after the other", async () => {
    await start();
    client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
    await client.until((text) => text.endsWith("got 3") || text.includes("\r\n\r\ngot 3"));
    client.send(post(0));
    await client.until((text) => text.endsWith("got 0"));
    client.send(`${post(2)}hi`);
    await client.until((text) => text.endsWith("got 2"));
  });

  it("never goes on for a client that left", async () => {
    const { arrived, gone } = await start();
    client.send(`${post(10)}abc`);
    const request = await arrived;
    await untilHeld(request, 3);
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.once("error", () => {});
    client.socket.resetAndDestroy();
    await closed;
    expect(gone()).toBe(false);
  });
});
