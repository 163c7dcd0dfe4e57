// Questions between processes: answered, refused, or failed in time.

import { afterEach, describe, expect, it, vi } from "vitest";
import { channelPair } from "../../test/channel-pair.js";
import { Peer } from "./request-reply.js";

afterEach(() => {
  vi.useRealTimers();
});

function standOn() {
  const { worker, primary, cut } = channelPair();
  new Peer(worker, {
    double: (value: number) => value * 2,
    wait: () => new Promise(() => {}),
    fail: () => {
      throw new Error("no room");
    },
  });
  return { peer: new Peer(primary), cut };
}

describe("a question", () => {
  it("is answered, each by its own answer", async () => {
    const { peer } = standOn();
    const answers = [1, 2, Number.POSITIVE_INFINITY].map((each) => peer.ask("double", each, 5_000));
    expect(await Promise.all(answers)).toEqual([2, 4, Number.POSITIVE_INFINITY]);
  });

  it("fails with what the other end says, or if nobody knows it", async () => {
    const { peer } = standOn();
    await expect(peer.ask("fail", undefined, 5_000)).rejects.toThrow("no room");
    await expect(peer.ask("sing", undefined, 5_000)).rejects.toMatchObject({
      code: "SLUICE_WORKER_FAILED",
      message: expect.stringContaining('nobody answers "sing"'),
    });
  });

  it("fails when the other end is gone, and when it takes too long", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { peer, cut } = standOn();
    const late = expect(peer.ask("wait", undefined, 100)).rejects.toThrow("within 100 ms");
    vi.advanceTimersByTime(100);
    await late;
    const lost = peer.ask("wait", undefined, 100);
    cut();
    await expect(lost).rejects.toThrow("the process is gone");
  });
});
