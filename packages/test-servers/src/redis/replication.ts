// What groups of servers have in common: starting and stopping many, and replication that is
// ready in milliseconds.

import { type RedisConfig, RedisProcess, type RedisProcessOptions } from "./redis-process.js";

/** Configuration with which a new replica is in sync immediately and a lost one is soon missed. */
export const replicates: RedisConfig = {
  "repl-diskless-sync": "yes",
  "repl-diskless-sync-delay": 0,
  "repl-ping-replica-period": 1,
  "repl-timeout": 5,
};

/** Starts `count` processes side by side. If one fails, none is left. */
export async function startAll(
  count: number,
  options: RedisProcessOptions,
): Promise<RedisProcess[]> {
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () => RedisProcess.start(options)),
  );
  const started = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = outcomes.find((each) => each.status === "rejected");
  if (failed === undefined) return started;
  await stopAll(started);
  throw failed.reason;
}

/** Ends all of these processes. */
export async function stopAll(servers: readonly RedisProcess[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}
