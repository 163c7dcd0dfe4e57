import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { nowMs, sleep, waitFor, within } from "../clock.js";
import { RespConnection, startFaultProxy } from "../index.js";
import { staysSilent, useProxiedRedis } from "./proxied-redis.js";

const stand = useProxiedRedis();

describe("a proxy that passes", () => {
  it("carries any bytes both ways, and counts them", async () => {
    const big = "ü\r\n$-1\r\n".repeat(300_000);
    await stand.client.command("SET", "big", big);
    expect(await stand.client.command("GET", "big")).toBe(big);
    const bytes = Buffer.byteLength(big);
    const { connections, connectionsOpen, repliesPassed, ...rest } = stand.proxy.counters;
    expect({ connections, connectionsOpen, repliesPassed }).toEqual({
      connections: 1,
      connectionsOpen: 1,
      repliesPassed: 3,
    });
    expect(rest.bytesToServer).toBeGreaterThan(bytes);
    expect(rest.bytesToClient).toBeGreaterThan(bytes);
    expect(rest).toMatchObject({ connectionsCut: 0, repliesDropped: 0 });
  });

  it("closes each side when the other one closes", async () => {
    const clients = async () => Number((await stand.redis.info("clients")).connected_clients);
    const before = await clients();
    stand.client.close();
    await waitFor(
      "the server's side to close",
      2000,
      async () => (await clients()) < before || undefined,
    );
    await waitFor(
      "the link to go",
      2000,
      () => stand.proxy.counters.connectionsOpen === 0 || undefined,
    );
    await stand.client.command("PING");
    await stand.redis.command("CLIENT", "KILL", "TYPE", "normal");
    await waitFor(
      "the client's side to close",
      2000,
      () => stand.proxy.counters.connectionsOpen === 0 || undefined,
    );
  });

  it("closes connections when nothing listens behind it", async () => {
    const lonely = await startFaultProxy({ port: 1 });
    await expect(new RespConnection(lonely).command("PING")).rejects.toThrow();
    await waitFor("no link", 2000, () => lonely.counters.connectionsOpen === 0 || undefined);
    lonely.close();
  });
});

describe("faults", () => {
  it("delay: a round trip takes twice the delay, in order, with requests under way together", async () => {
    stand.proxy.delay(250);
    const startMs = nowMs();
    const answers = [1, 2, 3, 4].map((i) => sleep(i).then(() => stand.client.command("INCR", "n")));
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4]);
    expect(nowMs() - startMs).toBeGreaterThanOrEqual(499);
    // One after the other they would take two seconds.
    expect(nowMs() - startMs).toBeLessThan(1_900);
  });

  it("delay: healing releases what waits immediately", async () => {
    stand.proxy.delay(60_000);
    const answer = stand.client.command("PING");
    await staysSilent(answer);
    await stand.proxy.heal();
    expect(await within(1000, "PING", answer)).toBe("PONG");
  });

  it.each([
    ["close", "was closed"],
    ["reset", "ECONNRESET"],
  ] as const)("cut: a %s is seen immediately, and the next connection works", async (how, seen) => {
    await stand.redis.command("CLIENT", "PAUSE", 1_500);
    const answer = stand.client.command("PING");
    const startMs = nowMs();
    await sleep(20);
    stand.proxy.cut(how);
    await expect(answer).rejects.toThrow(seen);
    expect(nowMs() - startMs).toBeLessThan(1_400);
    expect(stand.proxy.counters.connectionsCut).toBe(1);
    expect(await stand.client.command("PING")).toBe("PONG");
  });

  it("cutEvery: each third reply is lost with its connection, and was executed", async () => {
    stand.proxy.cutEvery(3);
    const outcomes: string[] = [];
    for (let i = 0; i < 9; i++) {
      outcomes.push(await stand.client.command("INCR", "n").then(String, () => "lost"));
    }
    expect(outcomes).toEqual(["1", "2", "lost", "4", "5", "lost", "7", "8", "lost"]);
    expect(await stand.count()).toBe(9);
    expect(stand.proxy.counters.connectionsCut).toBe(3);
    await stand.proxy.heal();
    for (let i = 10; i < 16; i++) expect(await stand.client.command("INCR", "n")).toBe(i);
  });

  it("refuse: new connections are refused, open ones work, healing accepts again", async () => {
    stand.proxy.refuse();
    const other = new RespConnection(stand.proxy);
    await expect(other.command("PING")).rejects.toThrow("ECONNREFUSED");
    expect(await stand.client.command("PING")).toBe("PONG");
    await stand.proxy.heal();
    expect(await other.command("PING")).toBe("PONG");
    expect(await stand.client.command("PING")).toBe("PONG");
    other.close();
  });

  it("dropReplies: executed, never answered; healing cuts what lost replies", async () => {
    stand.proxy.dropReplies();
    const answer = stand.client.command("INCR", "n");
    const cut = expect(answer).rejects.toThrow("was closed");
    await stand.countBecomes(1);
    await staysSilent(answer);
    expect(stand.proxy.counters).toMatchObject({ repliesDropped: 1, connectionsOpen: 1 });
    await stand.proxy.heal();
    await cut;
    expect(await stand.client.command("INCR", "n")).toBe(2);
  });

  it("dropReplies with a count: only those connections are cut that lost a reply", async () => {
    const other = new RespConnection(stand.proxy);
    await other.command("PING");
    stand.proxy.dropReplies({ count: 2 });
    const first = expect(stand.client.command("INCR", "n")).rejects.toThrow("was closed");
    await stand.countBecomes(1);
    const second = expect(stand.client.command("INCR", "n")).rejects.toThrow("was closed");
    await Promise.all([first, second]);
    expect(await stand.count()).toBe(2);
    expect(stand.proxy.counters).toMatchObject({ repliesDropped: 2, connectionsCut: 1 });
    expect(await other.command("INCR", "n")).toBe(3);
    expect(await stand.client.command("INCR", "n")).toBe(4);
    other.close();
  });

  it("dropReplies: a connection that lost replies stays mute under the next fault", async () => {
    stand.proxy.dropReplies();
    const lost = stand.client.command("ECHO", "first");
    lost.catch(() => {});
    await waitFor("the loss", 2000, () => stand.proxy.counters.repliesDropped === 1 || undefined);
    stand.proxy.delay(0);
    const next = stand.client.command("ECHO", "second");
    next.catch(() => {});
    await staysSilent(Promise.any([lost, next]));
  });

  it("partition: nothing goes either way, connections stay open, what was sent arrives late", async () => {
    stand.proxy.partition();
    const answer = stand.client.command("INCR", "n");
    const newcomer = new RespConnection(stand.proxy);
    const hung = newcomer.command("INCR", "n");
    await staysSilent(Promise.race([answer, hung]));
    expect(await stand.count()).toBe(0);
    expect(stand.proxy.counters.connectionsOpen).toBe(2);
    await stand.proxy.heal();
    expect([await answer, await hung].sort()).toEqual([1, 2]);
    newcomer.close();
  });

  it("partition: a request is executed late although its client has gone", async () => {
    stand.proxy.partition();
    const answer = stand.client.command("INCR", "n");
    const gone = expect(answer).rejects.toThrow("was closed");
    await sleep(20);
    stand.client.close();
    await gone;
    await sleep(50);
    expect(await stand.count()).toBe(0);
    await stand.proxy.heal();
    await stand.countBecomes(1);
  });

  it("partition: a reply that was under way is held back", async () => {
    await stand.redis.command("CLIENT", "PAUSE", 60);
    const answer = stand.client.command("INCR", "n");
    await waitFor(
      "the request to leave",
      2000,
      () => stand.proxy.counters.bytesToServer > 20 || undefined,
    );
    stand.proxy.partition();
    await stand.countBecomes(1);
    await staysSilent(answer);
    await stand.proxy.heal();
    expect(await answer).toBe(1);
  });

  it("trickle: bytes go few at a time, and all of them arrive", async () => {
    stand.proxy.trickle({ bytes: 4, everyMs: 5 });
    const startMs = nowMs();
    expect(await stand.client.command("ECHO", "0123456789".repeat(10))).toBe(
      "0123456789".repeat(10),
    );
    // 124 bytes there and 108 back, four every five milliseconds.
    expect(nowMs() - startMs).toBeGreaterThan(200);
  });

  it("refuses numbers that mean nothing", () => {
    expect(() => stand.proxy.trickle({ bytes: 0 })).toThrow(
      "bytes must be a whole number from 1, got 0",
    );
    expect(() => stand.proxy.cutEvery(Number.NaN)).toThrow("got NaN");
    expect(() => stand.proxy.delay(-1)).toThrow("delayMs");
    expect(() => stand.proxy.dropReplies({ count: 1.5 })).toThrow("count");
  });
});

describe("a server that is not Redis", () => {
  it("passes, and loses replies by the piece", async () => {
    const sockets: Socket[] = [];
    const echo = createServer((socket) => void sockets.push(socket.pipe(socket)));
    await new Promise<void>((done) => void echo.listen(0, "127.0.0.1", done));
    const strange = await startFaultProxy({ port: (echo.address() as { port: number }).port });
    const socket = connect(strange);
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    strange.dropReplies({ count: 1 });
    socket.write("lost");
    await once(socket, "close");
    expect(strange.counters).toMatchObject({ repliesPassed: 1, repliesDropped: 1 });
    strange.close();
    echo.close();
  });

  it("passes more than buffers hold to a client that reads late", async () => {
    const sentBytes = 32 * 1024 * 1024;
    const source = createServer((socket) => void socket.end(Buffer.alloc(sentBytes, "x")));
    await new Promise<void>((done) => void source.listen(0, "127.0.0.1", done));
    const narrow = await startFaultProxy({ port: (source.address() as { port: number }).port });
    const socket = connect(narrow);
    let passedBytes = -1;
    await waitFor("full buffers", 5000, async () => {
      await sleep(50);
      const before = passedBytes;
      passedBytes = narrow.counters.bytesToClient;
      return (passedBytes > 0 && passedBytes === before) || undefined;
    });
    expect(passedBytes).toBeLessThan(sentBytes);
    let receivedBytes = 0;
    socket.on("data", (chunk) => {
      receivedBytes += chunk.length;
    });
    await within(5000, "the end", once(socket, "end"));
    expect(receivedBytes).toBe(sentBytes);
    narrow.close();
    source.close();
  });
});
