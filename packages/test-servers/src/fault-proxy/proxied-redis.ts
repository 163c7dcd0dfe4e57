// What tests of the fault proxy use: one Redis server for a file, and for each test a proxy in front of it and a client.

import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { waitFor, within } from "../clock.js";
import { startRedis } from "../redis/redis.js";
import type { RedisProcess } from "../redis/redis-process.js";
import { RespConnection } from "../redis/resp-connection.js";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.js";

/** The servers of the test that runs. */
export class ProxiedRedis {
  redis!: RedisProcess;
  proxy!: FaultProxy;
  client!: RespConnection;

  /** Counts what the tests increment. */
  async count(): Promise<number> {
    return Number(await this.redis.command("GET", "n"));
  }

  countBecomes(n: number): Promise<true> {
    return waitFor(`a count of ${n}`, 2000, async () => (await this.count()) === n || undefined);
  }
}

const QUIET_MS = 150;

/** Checks that no reply comes for a while. */
export function staysSilent(reply: Promise<unknown>): Promise<void> {
  return expect(within(QUIET_MS, "reply", reply)).rejects.toThrow("no answer");
}

/** Starts the servers before the tests of a file, with an empty Redis and a new proxy for each, and stops them. */
export function useProxiedRedis(): ProxiedRedis {
  const stand = new ProxiedRedis();
  beforeAll(async () => {
    stand.redis = await startRedis();
  });
  afterAll(() => stand.redis.stop());
  beforeEach(async () => {
    await stand.redis.command("FLUSHALL");
    stand.proxy = await startFaultProxy({ port: stand.redis.port });
    stand.client = new RespConnection(stand.proxy);
    expect(await stand.client.command("PING")).toBe("PONG");
  });
  afterEach(() => {
    stand.client.close();
    stand.proxy.close();
  });
  return stand;
}
