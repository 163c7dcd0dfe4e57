import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { storeConformance } from "../../testing/index.js";
import { redisStore } from "./store.js";

const client = new Redis({ port: 7777, lazyConnect: true });
describe("a Redis store", () => {
  let count = 0;
  for (const { name, skipped, run } of storeConformance({
    createStore: (clock) => redisStore(client, { clock, prefix: `t${count++}` }),
    traces: 30,
  })) {
    if (skipped === undefined) it(name, run);
  }
});
