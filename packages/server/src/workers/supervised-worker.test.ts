// The place of a worker: how often and how soon a process that dies is followed by another.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeWorker } from "../../test/fake-worker.js";
import type { Channels } from "./channel/channel.js";
import type { WorkerStart } from "./channel/control-messages.js";
import { RequestChannel } from "./channel/request-channel.js";
import { RESTARTS_MAX, SupervisedWorker } from "./supervised-worker.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const START = {
  rules: { inline: {} },
  switches: { all: "on", rules: [] },
} as unknown as WorkerStart;

/** A worker that says what it has to, and opens one listener. */
function politeWorker({ control }: Channels): void {
  const channel = new RequestChannel(control, { switches: () => {}, rules: () => {} });
  void (async () => {
    await channel.ask("hello", undefined, 1_000);
    await channel.ask("opened", [{ name: "gateway", url: "http://127.0.0.1:1" }], 1_000);
  })().catch(() => {});
}

function setUpOn(worker: (channels: Channels) => void = politeWorker) {
  const started: FakeWorker[] = [];
  const deaths: (number | undefined)[] = [];
  let nowMs = 0;
  const supervised = new SupervisedWorker({
    fork: () => {
      started.push(new FakeWorker(started.length + 1, worker));
      return started[started.length - 1];
    },
    serve: () => {},
    toStart: () => START,
    nowMs: () => nowMs,
    onExited: ({ pid, nextMs }) => {
      expect(pid).toBe(started.at(-1)?.pid);
      deaths.push(nextMs);
    },
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { supervised, started, deaths, pass };
}

/** Lets messages go to and fro until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !isSo(); turn++) await new Promise(setImmediate);
  expect(isSo()).toBe(true);
}

describe("a worker that dies", () => {
  it("is followed by another, later each time, and by none after too many", async () => {
    const { supervised, started, deaths } = setUpOn();
    await supervised.start();
    for (let death = 1; death <= RESTARTS_MAX + 1; death++) {
      started[started.length - 1].exit("exit code 1");
      if (death > RESTARTS_MAX) break;
      await vi.advanceTimersByTimeAsync(deaths[deaths.length - 1] ?? 0);
      await until(() => supervised.isOpen);
    }
    expect(deaths).toEqual([
      100,
      200,
      400,
      800,
      1_600,
      3_200,
      6_400,
      10_000,
      10_000,
      10_000,
      undefined,
    ]);
    expect(started).toHaveLength(RESTARTS_MAX + 1);
  });

  it("starts again without a delay if it had lived for a minute", async () => {
    const { supervised, started, deaths, pass } = setUpOn();
    await supervised.start();
    started[0].exit("exit code 1");
    await vi.advanceTimersByTimeAsync(100);
    await until(() => supervised.isOpen);
    pass(60_000);
    started[1].exit("exit code 1");
    expect(deaths).toEqual([100, 100]);
  });

  it("is not followed once it was let go", async () => {
    const { supervised, started, deaths } = setUpOn();
    await supervised.start();
    supervised.stopRestarting();
    started[0].exit("exit code 0");
    await vi.advanceTimersByTimeAsync(60_000);
    expect([deaths, started.length]).toEqual([[], 1]);
  });
});

describe("a worker that is let go before its listeners are open", () => {
  it("is killed: no primary would ask it any more to stop listening", async () => {
    const { supervised, started } = setUpOn(() => {});
    const starting = supervised.start();
    const exits: string[] = [];
    started[0].onceExited((why) => exits.push(why));
    supervised.stopRestarting();
    await expect(starting).rejects.toThrow("SIGKILL");
    expect(exits).toEqual(["SIGKILL"]);
  });
});

describe("a worker that does not start", () => {
  it("fails the start with what it said", async () => {
    const { supervised, deaths } = setUpOn(({ control }) => {
      void new RequestChannel(control).ask("failed", "the port is taken", 1_000).catch(() => {});
    });
    await expect(supervised.start()).rejects.toThrow("the port is taken");
    expect(deaths).toEqual([]);
  });

  it("fails it when it ends, and when it says nothing for too long", async () => {
    const silent = setUpOn(() => {});
    const ended = silent.supervised.start();
    silent.started[0].exit("exit code 7");
    await expect(ended).rejects.toThrow("exit code 7");
    const late = silent.supervised.start();
    const seen = expect(late).rejects.toThrow("it did not open its listeners within 30 seconds");
    await vi.advanceTimersByTimeAsync(30_000);
    await seen;
  });
});

describe("end", () => {
  it("kills a worker that does not end in time", async () => {
    const { supervised, started } = setUpOn();
    await supervised.start();
    const exits: string[] = [];
    started[0].onceExited((why) => exits.push(why));
    const ending = supervised.end(500);
    await vi.advanceTimersByTimeAsync(500);
    await ending;
    expect(exits).toEqual(["SIGKILL"]);
  });
});
