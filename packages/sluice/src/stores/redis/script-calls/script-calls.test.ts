import { describe, expect, it } from "vitest";
import type { RedisPort } from "../client/redis-port.js";
import { scripts } from "../lua/scripts.js";
import { Calls, LostReply, PeriodUnknown, type ScriptCall } from "./script-calls.js";

const call: ScriptCall = { script: scripts.check, keys: ["k"], args: [] };
const INFO = "redis_version:7.0.0\r\n";

/** A client whose answers are given in advance: an Error is a rejection. */
function standOn(answers: readonly unknown[], info: unknown = INFO) {
  const sent: string[] = [];
  const warnings: string[] = [];
  const queue = [...answers];
  const answer = (command: string) => () => {
    sent.push(command);
    const next = queue.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const port: RedisPort = {
    isCluster: false,
    isReady: true,
    reason: undefined,
    whenReady: () => Promise.resolve(),
    evalSha: answer("EVALSHA"),
    eval: answer("EVAL"),
    info: () => (info instanceof Error ? Promise.reject(info) : Promise.resolve(String(info))),
    reconnect: () => sent.push("reconnect"),
    close: () => Promise.resolve(),
  };
  return { calls: new Calls(port, (warning) => warnings.push(warning)), sent, warnings };
}

describe("a call", () => {
  it("sends the script along to a server that does not know it", async () => {
    const { calls, sent } = standOn([[1], new Error("NOSCRIPT No matching script"), [2]]);
    expect(await calls.run(call)).toEqual([1]);
    expect(await calls.run(call)).toEqual([2]);
    expect(sent).toEqual(["EVALSHA", "EVALSHA", "EVAL"]);
  });

  it.each([
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN The cluster is down",
    "Stream isn't writeable and enableOfflineQueue options is false",
    "The client is offline",
  ])("is sent again where nothing was done: %s", async (message) => {
    const { calls, sent } = standOn([new Error(message), new Error(message), [1]]);
    expect(await calls.run(call)).toEqual([1]);
    expect(sent).toEqual(["EVALSHA", "EVALSHA", "EVALSHA"]);
  });

  it("goes to the primary of now if this one became a replica", async () => {
    const refused = new Error("READONLY You can't write against a read only replica. script: 1");
    const { calls, sent } = standOn([refused, [1]]);
    expect(await calls.run(call)).toEqual([1]);
    expect(sent).toEqual(["EVALSHA", "reconnect", "EVALSHA"]);
  });

  it.each(["Connection is closed.", "read ECONNRESET", "Socket closed unexpectedly"])(
    "is not sent again after it may have happened: %s",
    async (message) => {
      const { calls, sent } = standOn([new Error(message), [1]]);
      await expect(calls.run(call)).rejects.toBeInstanceOf(LostReply);
      expect(sent).toEqual(["EVALSHA"]);
    },
  );

  it.each([
    "OOM command not allowed when used memory > 'maxmemory'",
    "MISCONF Redis is configured",
  ])("reports what the server refused: %s", async (message) => {
    const { calls, sent } = standOn([new Error(message)]);
    const failure = { code: "SLUICE_STORE_UNAVAILABLE", message: expect.stringContaining(message) };
    await expect(calls.run(call)).rejects.toMatchObject(failure);
    await expect(calls.run(call)).resolves.toBeUndefined();
    expect(sent).toEqual(["EVALSHA", "EVALSHA"]);
  });

  it("ends after a bounded number of tries, or when no caller waits any more", async () => {
    const busy = new Error("BUSY Redis is busy");
    const often = standOn(Array.from({ length: 100 }, () => busy));
    await expect(often.calls.run(call)).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    expect(often.sent.length).toBeLessThan(20);
    const { calls, sent } = standOn([busy, busy]);
    const isAbandoned = () => sent.length > 0;
    await expect(calls.run({ ...call, isAbandoned })).rejects.toThrow("BUSY");
    expect(sent).toHaveLength(1);
  });

  it("is not sent for a caller that has gone on without it", async () => {
    const { calls, sent } = standOn([[1]]);
    await expect(calls.run({ ...call, isAbandoned: () => true })).rejects.toThrow(
      "the caller no longer waits",
    );
    expect(sent).toEqual([]);
  });

  it("says which calendar periods it needs", async () => {
    const { calls } = standOn([new Error("SLUICEPERIOD 1767268800000")]);
    const seen = await calls.run(call).catch((error: unknown) => error);
    expect(seen).toBeInstanceOf(PeriodUnknown);
    expect(seen).toMatchObject({ nowMs: 1_767_268_800_000 });
  });
});

describe("the look at the server", () => {
  it("is taken once, and a server that is too old is never asked", async () => {
    const { calls, sent } = standOn([[1]], "redis_version:5.0.0\r\n");
    for (let n = 0; n < 2; n++) {
      await expect(calls.run(call)).rejects.toMatchObject({ code: "SLUICE_STORE_UNSUPPORTED" });
    }
    expect(sent).toEqual([]);
  });

  it("warns once, and goes on where INFO is not allowed", async () => {
    const { calls, warnings } = standOn(
      [[1], [2]],
      new Error("NOPERM this user has no permissions"),
    );
    expect(await calls.run(call)).toEqual([1]);
    expect(await calls.run(call)).toEqual([2]);
    expect(warnings).toEqual([expect.stringContaining("can't be looked at (NOPERM")]);
  });
});
