// What signals do to a service.

import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { toTestConfig } from "../../test/test-config.js";
import type { Service } from "../service/service.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { type ProcessLike, runService } from "./run.js";

class FakeProcess extends EventEmitter implements ProcessLike {
  exit(code: number): void {
    this.emit("exited", code);
  }
}

function setUpOn() {
  const process = new FakeProcess();
  const calls: string[] = [];
  let finishDrain = () => {};
  const { core: _, ...verbs } = {
    core: undefined,
    listeners: [],
    isReady: () => true,
    reload: async () => {
      calls.push("reload");
      throw new Error("bad file");
    },
    drain: () => {
      calls.push("drain");
      return new Promise<void>((resolve) => {
        finishDrain = resolve;
      });
    },
    close: async () => {
      calls.push("close");
    },
  };
  const service = verbs as unknown as Service;
  const running = runService(
    toTestConfig(),
    { process, telemetry: silentTelemetry(), onStarted: () => process.emit("started") },
    async () => service,
  );
  return { process, calls, running, finishDrain: () => finishDrain() };
}

describe("a process", () => {
  it.each(["SIGTERM", "SIGINT"])("drains on %s and ends with 0", async (signal) => {
    const { process, calls, running, finishDrain } = setUpOn();
    await once(process, "started");
    process.emit(signal, signal);
    expect(calls).toEqual(["drain"]);
    finishDrain();
    expect(await running).toBe(0);
  });

  it("closes immediately on a second signal", async () => {
    const { process, calls, running } = setUpOn();
    await once(process, "started");
    process.emit("SIGTERM", "SIGTERM");
    process.emit("SIGTERM", "SIGTERM");
    expect(await running).toBe(0);
    expect(calls).toEqual(["drain", "close"]);
  });

  it("drains as soon as it has started if the signal came before", async () => {
    const { process, calls, running, finishDrain } = setUpOn();
    process.emit("SIGTERM", "SIGTERM");
    await once(process, "started");
    expect(calls).toEqual(["drain"]);
    finishDrain();
    expect(await running).toBe(0);
  });

  it("reloads on SIGHUP, and lives on if that fails", async () => {
    const { process, calls, running, finishDrain } = setUpOn();
    await once(process, "started");
    process.emit("SIGHUP", "SIGHUP");
    process.emit("SIGTERM", "SIGTERM");
    expect(calls).toEqual(["reload", "drain"]);
    finishDrain();
    expect(await running).toBe(0);
    expect(process.eventNames()).toEqual([]);
  });

  it("ends with 1 on an uncaught error", async () => {
    const { process } = setUpOn();
    await once(process, "started");
    const exited = once(process, "exited");
    process.emit("uncaughtException", new Error("boom"));
    expect(await exited).toEqual([1]);
  });
});
