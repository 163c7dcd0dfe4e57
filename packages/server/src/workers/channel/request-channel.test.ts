// Questions between processes: answered, refused, or failed in time.

import { afterEach, describe, expect, it, vi } from "vitest";
import { channelPair } from "../../../test/channel-pair.js";
import { RequestChannel } from "./request-channel.js";

afterEach(() => {
  vi.useRealTimers();
});

function setUpOn() {
  const { worker, primary, cut } = channelPair();
  new RequestChannel(worker, {
    double: (value: number) => value * 2,
    wait: () => new Promise(() => {}),
    fail: () => {
      throw new Error("no room");
    },
  });
  return { channel: new RequestChannel(primary), cut };
}

describe("a question", () => {
  it("is answered, each by its own answer", async () => {
    const { channel } = setUpOn();
    const answers = [1, 2, Number.POSITIVE_INFINITY].map((each) =>
      channel.ask("double", each, 5_000),
    );
    expect(await Promise.all(answers)).toEqual([2, 4, Number.POSITIVE_INFINITY]);
  });

  it("fails with what the other end says, or if it is unknown", async () => {
    const { channel } = setUpOn();
    await expect(channel.ask("fail", undefined, 5_000)).rejects.toThrow("no room");
    await expect(channel.ask("sing", undefined, 5_000)).rejects.toMatchObject({
      code: "SLUICE_WORKER_FAILED",
      message: expect.stringContaining('unknown request "sing"'),
    });
  });

  it("fails when the other end is gone, and when it takes too long", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { channel, cut } = setUpOn();
    const late = expect(channel.ask("wait", undefined, 100)).rejects.toThrow("within 100 ms");
    vi.advanceTimersByTime(100);
    await late;
    const lost = channel.ask("wait", undefined, 100);
    cut();
    await expect(lost).rejects.toThrow("the process has exited");
  });

  it("fails immediately if the other end had gone before", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { channel, cut } = setUpOn();
    cut();
    // No timer fires here: the request must not wait for its timeout.
    await expect(channel.ask("double", 1, 5_000)).rejects.toMatchObject({
      code: "SLUICE_WORKER_FAILED",
      message: expect.stringContaining("the process has exited"),
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});
