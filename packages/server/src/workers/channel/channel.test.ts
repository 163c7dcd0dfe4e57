// A pipe as a channel: lines arrive whole and in order, however they are cut, until the other end is gone.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { lineChannel } from "./channel.js";

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

/** Two ends of a connection. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as { port: number }).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  open.push(near, far);
  return [near, far];
}

describe("a pipe as a channel of lines", () => {
  it("brings every line whole and in order, short and long, in any script", async () => {
    const [near, far] = await pair();
    const lines = ["[]", `["é 漢字 😀"]`, "x".repeat(1_000_000), "", "last"];
    const heard: string[] = [];
    const all = new Promise<void>((resolve) => {
      lineChannel(far).listen((line) => {
        heard.push(line);
        if (line === "last") resolve();
      });
    });
    const channel = lineChannel(near);
    for (const line of lines) channel.send(line);
    await all;
    expect(heard).toEqual(lines);
  });

  it("joins a line that comes byte by byte", async () => {
    const [near, far] = await pair();
    near.setNoDelay(true);
    const heard = new Promise<string>((resolve) => {
      lineChannel(far).listen(resolve);
    });
    for (const byte of Buffer.from("é😀!\n")) {
      near.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    expect(await heard).toBe("é😀!");
  });

  it("loses nothing that came before there was a listener", async () => {
    const [near, far] = await pair();
    const channel = lineChannel(far);
    lineChannel(near).send("early");
    await new Promise(setImmediate);
    expect(await new Promise((resolve) => channel.listen(resolve))).toBe("early");
  });

  it("says once that the other end is gone, also to those who ask later, and then sends nothing", async () => {
    const [near, far] = await pair();
    const channel = lineChannel(near);
    const gone = new Promise<void>((resolve) => channel.onceGone(resolve));
    channel.listen(() => {});
    far.destroy();
    await gone;
    channel.send("never read");
    await new Promise<void>((resolve) => channel.onceGone(resolve));
  });
});
