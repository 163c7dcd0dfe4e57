import { describe, expect, it } from "vitest";
import type { RedisClient } from "./client/client.js";
import { type RedisStoreOptions, toSetup } from "./redis-options.js";
import { redisStore } from "./redis-store.js";

describe("options of a Redis store", () => {
  it("have defaults", () => {
    const { naming, idempotencyMs, clock, slackMs } = toSetup({});
    expect(naming).toMatchObject({ prefix: "sluice", keySecret: undefined });
    expect({ idempotencyMs, clock, slackMs }).toEqual({
      idempotencyMs: 60_000,
      clock: undefined,
      slackMs: 0,
    });
  });

  it.each([
    [
      { prefix: "a{b}" },
      'prefix must be 1 to 100 letters, digits or _ - . : without braces, got "a{b}"',
    ],
    [{ prefix: "" }, "prefix must be"],
    [{ prefix: 7 }, "got 7"],
    [
      { keySecret: "short" },
      "keySecret must be a string of at least 16 characters, got 5 characters",
    ],
    [{ keySecret: 1234567890123456 }, "got number"],
    [{ isSecret: "apiKey" }, 'isSecret must be a function, got "apiKey"'],
    [{ idempotencyMs: 0 }, "idempotencyMs must be a whole number from 1"],
    [{ idempotencyMs: 1.5 }, "got 1.5"],
    [{ clock: {} }, "clock must have a function now(), and optionally wall(), got {}"],
    [{ onWarning: true }, "onWarning must be a function, got true"],
    [{ prefixx: "a" }, 'unknown option "prefixx"'],
    [null, "needs an object of options, got null"],
  ])("refuse %j", (options, text) => {
    expect(() => toSetup(options as RedisStoreOptions)).toThrow(text);
  });

  it("never show a secret that is refused", () => {
    expect(() => toSetup({ keySecret: "hunter2" })).not.toThrow(/hunter2/);
  });

  it.each([[{}], [null], ["redis://127.0.0.1"], [{ get: () => 1 }]])(
    "need a client of ioredis or node-redis, not %j",
    (client) => {
      const make = () => redisStore(client as unknown as RedisClient);
      expect(make).toThrow(/redisStore: needs a client of ioredis or node-redis, got /);
    },
  );
});
