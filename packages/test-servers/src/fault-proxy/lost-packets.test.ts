// Faults of one direction, and of single packets.

import { describe, expect, it } from "vitest";
import { nowMs, sleep, waitFor, within } from "../clock.js";
import { RespConnection } from "../index.js";
import { staysSilent, useProxiedRedis } from "./proxied-redis.js";

const stand = useProxiedRedis();

describe("faults of one direction, and of single packets", () => {
  it("partition to the server: requests wait, replies to earlier ones arrive", async () => {
    await stand.redis.command("CLIENT", "PAUSE", 60);
    const earlier = stand.client.command("INCR", "n");
    const isSent = () => stand.proxy.counters.bytesToServer > 20 || undefined;
    await waitFor("the request to leave", 2000, isSent);
    stand.proxy.partition({ to: "server" });
    const later = stand.client.command("INCR", "n");
    expect(await within(2000, "reply", earlier)).toBe(1);
    await staysSilent(later);
    expect(await stand.count()).toBe(1);
    await stand.proxy.heal();
    expect(await later).toBe(2);
  });

  it("partition to the client: requests are executed, and replies arrive late", async () => {
    stand.proxy.partition({ to: "client" });
    const answer = stand.client.command("INCR", "n");
    await stand.countBecomes(1);
    await staysSilent(answer);
    await stand.proxy.heal();
    expect(await answer).toBe(1);
    expect(stand.proxy.counters.connectionsCut).toBe(0);
  });

  it("dropRequests: never executed, replies to earlier ones arrive; healing cuts what lost requests", async () => {
    const other = new RespConnection(stand.proxy);
    await other.command("PING");
    await stand.redis.command("CLIENT", "PAUSE", 60);
    const earlier = stand.client.command("INCR", "n");
    const isSent = () => stand.proxy.counters.bytesToServer > 40 || undefined;
    await waitFor("the request to leave", 2000, isSent);
    stand.proxy.dropRequests();
    const lost = stand.client.command("INCR", "n");
    const cut = expect(lost).rejects.toThrow("was closed");
    expect(await within(2000, "reply", earlier)).toBe(1);
    await staysSilent(lost);
    expect(stand.proxy.counters.connectionsOpen).toBe(2);
    expect(stand.proxy.counters.requestBytesDropped).toBeGreaterThan(0);
    await stand.proxy.heal();
    await cut;
    expect(await other.command("INCR", "n")).toBe(2);
    expect(await stand.client.command("INCR", "n")).toBe(3);
    expect(stand.proxy.counters.connectionsCut).toBe(1);
    other.close();
  });

  it("dropRequests: a connection that lost requests executes none under the next fault", async () => {
    stand.proxy.dropRequests();
    const lost = stand.client.command("INCR", "n");
    lost.catch(() => {});
    const isLost = () => stand.proxy.counters.requestBytesDropped > 0 || undefined;
    await waitFor("the loss", 2000, isLost);
    stand.proxy.delay(0);
    const next = stand.client.command("INCR", "n");
    next.catch(() => {});
    await staysSilent(Promise.any([lost, next]));
    expect(await stand.count()).toBe(0);
  });

  it("losePackets: a lost segment comes 200 ms later, then 400, and holds back what is behind it", async () => {
    // The first segment is lost twice, no other one is.
    const draws = [0, 0];
    stand.proxy.losePackets({ chance: 0.5, random: () => draws.shift() ?? 0.9 });
    const startMs = nowMs();
    const first = stand.client.command("INCR", "n").then(() => nowMs() - startMs);
    await sleep(20);
    const second = stand.client.command("INCR", "n").then(() => nowMs() - startMs);
    const [firstMs, secondMs] = await Promise.all([first, second]);
    expect(firstMs).toBeGreaterThanOrEqual(599);
    expect(secondMs).toBeGreaterThanOrEqual(firstMs);
    expect(stand.proxy.counters.segmentsLost).toBe(2);
    expect(await stand.client.command("INCR", "n")).toBe(3);
  });

  it("losePackets: draws for each segment, delays the others, and loses no byte", async () => {
    let draws = 0;
    const random = () => (draws++ % 10 === 3 ? 0 : 0.9);
    const big = "0123456789".repeat(1_460);
    stand.proxy.losePackets({ chance: 0.1, random, delayMs: 20 });
    const startMs = nowMs();
    expect(await stand.client.command("ECHO", big)).toBe(big);
    // The longest wait of the segments there, and of those back.
    expect(nowMs() - startMs).toBeGreaterThanOrEqual(439);
    // Ten segments of content each way, in as many pieces as the network made of them.
    expect(draws).toBeGreaterThanOrEqual(20);
    expect(stand.proxy.counters.segmentsLost).toBeGreaterThanOrEqual(2);
  });

  it("losePackets: healing releases what waits immediately", async () => {
    let draws = 0;
    stand.proxy.losePackets({ chance: 0.5, random: () => (draws++ < 6 ? 0 : 0.9) });
    const answer = stand.client.command("PING");
    await staysSilent(answer);
    await stand.proxy.heal();
    expect(await within(1000, "PING", answer)).toBe("PONG");
  });

  it("losePackets refuses a chance outside of 0 to below 1", () => {
    expect(() => stand.proxy.losePackets({ chance: 1, random: () => 0 })).toThrow("got 1");
    expect(() => stand.proxy.losePackets({ chance: Number.NaN, random: () => 0 })).toThrow(
      "chance",
    );
  });
});
