import { Redis } from "ioredis";
import type { RedisProcess } from "sluice-test-servers";
import { findValkeyServer, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, it } from "vitest";
import { toTest } from "../../../test/conformance-test.js";
import { timesFactor } from "../../../test/traces.js";
import { storeConformance } from "../../testing/testing.js";
import { redisStore } from "./redis-store.js";

const skip = {
  "a requestId makes a request count once: with another key it is an error":
    "an id is recorded beside its counter, where another key of a Cluster can't see it",
};
const valkey = findValkeyServer();
const servers: Readonly<Record<string, string | undefined>> = {
  Redis: undefined,
  ...(valkey === undefined ? {} : { Valkey: valkey }),
};

describe.each(Object.entries(servers))("a store in %s keeps the contract", (_, binary) => {
  let server: RedisProcess;
  let client: Redis;
  let count = 0;
  beforeAll(async () => {
    server = await startRedis(binary === undefined ? {} : { binary });
    client = new Redis(server.port, server.host);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  const cases = storeConformance({
    // Each case has its own names, and so an empty store.
    createStore: (clock) => redisStore(client, { clock, prefix: `case-${count++}` }),
    skip,
    traces: timesFactor(40),
  });
  // Beside each other, because most of a case is waiting for replies. So each takes as long as all that run beside it.
  for (const each of cases) it.concurrent(each.name, toTest(each), 600_000);
});
