// The name that was probably meant, and the errors that suggest it.

import { describe, expect, it } from "vitest";
import { createLimiter } from "../limiter/limiter.js";
import type { LimiterOptions } from "../limiter/limiter-options.js";
import type { RequestOptions } from "../limiter/request-options.js";
import { concurrency, fixedWindow, tokenBucket } from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { nearestName } from "./nearest-name.js";

const limit = fixedWindow({ limit: 5, windowMs: 1_000 });

describe("nearestName", () => {
  it.each([
    ["limt", "limit"],
    ["timeoutMS", "timeoutMs"],
    ["onStoreFailuer", "onStoreFailure"],
    ["sotre", "store"],
    ["weight", undefined],
    ["x", undefined],
    ["clck", "clock"],
    ["onStoreTimeout", undefined],
    ["", undefined],
    ["l".repeat(1_000_000), undefined],
  ])("of %.20s is %s", (name, nearest) => {
    const known = ["limit", "store", "clock", "name", "onStoreFailure", "timeoutMs"];
    expect(nearestName(name, known)).toBe(nearest);
  });

  it("is undefined if several are equally near, and of two letters one may differ", () => {
    expect(nearestName("6xx", ["4xx", "5xx"])).toBeUndefined();
    expect(nearestName("ap", ["app", "orders"])).toBe("app");
  });
});

describe("an unknown option", () => {
  it("of createLimiter is an error with the name that was probably meant, and all that are known", () => {
    expect(() => createLimiter({ limt: limit } as unknown as LimiterOptions)).toThrow(
      'createLimiter: unknown option "limt", did you mean limit? known: limit, store, clock, name, ' +
        "onStoreFailure, timeoutMs",
    );
  });

  it("of a store is one too", () => {
    expect(() => memoryStore({ keyMax: 5 } as object)).toThrow("did you mean keysMax?");
  });

  it("of a request is an error under every verb, and charges nothing", () => {
    const limiter = createLimiter({ limit });
    const heavy = { weight: 2 } as RequestOptions;
    const timed = { ...heavy, nowMs: 1_000 };
    for (const verb of ["check", "peek", "reserve"] as const) {
      expect(() => limiter[verb]("k", heavy), verb).toThrow(
        'unknown option "weight"; known: cost, requestId, caller, nowMs',
      );
    }
    for (const verb of ["check", "peek", "reserve", "unblock", "reset"] as const) {
      expect(() => limiter[verb]("k", timed), verb).toThrow('unknown option "weight"');
    }
    for (const verb of ["refund", "block"] as const) {
      expect(() => limiter[verb]("k", 1, timed), verb).toThrow('unknown option "weight"');
    }
    const permits = createLimiter({ limit: concurrency({ limit: 1, permitMs: 1_000 }) });
    expect(() => permits.acquire("k", heavy)).toThrow('unknown option "weight"');
    expect(() => limiter.check("k", { csot: 2 } as object)).toThrow("did you mean cost?");
    expect(limiter.peek("k").remaining).toBe(5);
  });
});

describe("a limit in place of the options", () => {
  it.each([limit, tokenBucket({ capacity: 1, refillPerSecond: 1 })])(
    "is an error that says what to write ($algorithm)",
    (alone) => {
      expect(() => createLimiter(alone as unknown as LimiterOptions)).toThrow(
        `createLimiter: got a limit alone; write createLimiter({ limit: ${alone.algorithm}(…) })`,
      );
    },
  );
});
