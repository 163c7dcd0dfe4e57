import { EventEmitter } from "node:events";
import { expect, it, vi } from "vitest";
import type { ReadJob, ReadRules } from "./read-job.js";
import { readInThread } from "./thread-reader.js";

const { threads } = vi.hoisted(() => ({ threads: [] as EventEmitter[] }));

vi.mock("node:worker_threads", () => ({
  Worker: class extends EventEmitter {
    constructor() {
      super();
      threads.push(this);
    }
    ref() {}
    unref() {}
    postMessage() {}
    terminate() {}
  },
}));

it("a late answer of a thread that was ended does not settle the next job", async () => {
  const job: ReadJob = {
    text: "",
    file: undefined,
    use: undefined,
    returnsRules: false,
    purpose: "inspect",
  };
  const toAnswer = (version: string): ReadRules => ({
    version,
    set: undefined,
    messages: 0,
    withConsistency: [],
  });
  const first = readInThread(job);
  const second = readInThread(job);
  threads[0]?.emit("error", new Error("it broke"));
  await expect(first).rejects.toMatchObject({ code: "SLUICE_BODY_TOO_LARGE" });
  threads[0]?.emit("message", toAnswer("first"));
  threads[1]?.emit("message", toAnswer("second"));
  expect((await second).version).toBe("second");
});
