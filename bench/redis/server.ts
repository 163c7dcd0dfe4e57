// The Redis server of a benchmark: its own process on a free port, clients of it, and its statistics. They are
// read over another connection than the one that is measured.

import { once } from "node:events";
import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";

/** How many commands a server has carried out. */
export interface CommandCount {
  /** Calls of scripts: all that a Sluice store sends to decide, lease or refund. */
  readonly scripts: number;
  /** The same, with the commands that scripts called. INFO, which the benchmark itself sends, is left out. */
  readonly all: number;
}

/** Starts a server without persistence, lets it be used, and stops it. */
export async function withRedis<T>(use: (redis: RedisProcess) => Promise<T>): Promise<T> {
  const redis = await startRedis();
  try {
    return await use(redis);
  } finally {
    await redis.stop();
  }
}

/** An ioredis client that is connected, without the offline queue, as peers' manuals advise. */
export async function connect({ host, port }: { host: string; port: number }): Promise<Redis> {
  return ready(new Redis({ host, port, enableOfflineQueue: false }));
}

/**
 * An ioredis client that sends nothing twice. A store uses such a one as it is, where of any other
 * it makes a duplicate: what else is asked of it goes over the store's own connection.
 */
export async function connectShared({
  host,
  port,
}: {
  host: string;
  port: number;
}): Promise<Redis> {
  const once = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 };
  return ready(new Redis({ host, port, enableOfflineQueue: false, ...once }));
}

/** Processor time that the server has used, in seconds. */
export async function readCpuSeconds(redis: RedisProcess): Promise<number> {
  const { used_cpu_user: user, used_cpu_sys: system } = await redis.info("cpu");
  return Number(user) + Number(system);
}

/** Memory that the server has allocated, in bytes. */
export async function readUsedBytes(redis: RedisProcess): Promise<number> {
  return Number((await redis.info("memory")).used_memory);
}

/** What the server has carried out since it started. */
export async function countCommands(redis: RedisProcess): Promise<CommandCount> {
  const fields = Object.entries(await redis.info("commandstats"));
  const calls = new Map(
    fields.map(([name, text]) => [
      name.replace("cmdstat_", ""),
      Number(/calls=(\d+)/.exec(text)?.[1]),
    ]),
  );
  const all = [...calls].reduce((sum, [name, count]) => (name === "info" ? sum : sum + count), 0);
  return { scripts: (calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0), all };
}

/** Commands that came between two counts, times `share`. */
export function commandsPer(
  share: number,
  { before, after }: { before: CommandCount; after: CommandCount },
): CommandCount {
  return {
    scripts: (after.scripts - before.scripts) * share,
    all: (after.all - before.all) * share,
  };
}

/** The mean of rounds: commands come in lumps, which a median would hide. */
export function meanCount(counts: readonly CommandCount[]): CommandCount {
  const mean = (of: (count: CommandCount) => number) =>
    counts.reduce((sum, count) => sum + of(count), 0) / counts.length;
  return { scripts: mean(({ scripts }) => scripts), all: mean(({ all }) => all) };
}

async function ready(client: Redis): Promise<Redis> {
  if (client.status !== "ready") await once(client, "ready");
  return client;
}
