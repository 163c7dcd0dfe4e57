// A primary, its replicas, and the sentinels that watch them: what a client meets that asks who
// the primary is, and what a failover does to it.

import { waitFor } from "../clock.js";
import { ensureRedisServer } from "../programs/find-server.js";
import { withoutPersistence } from "./redis.js";
import { type RedisConfig, RedisProcess } from "./redis-process.js";
import { replicates, startAll, stopAll } from "./replication.js";
import type { Address } from "./resp-connection.js";

/** Options of `startSentinelGroup`. */
export interface SentinelOptions {
  /** Replicas of the primary. Default: 1. */
  readonly replicas?: number;
  /** Sentinels; a majority of them decides on a failover. Default: 3. */
  readonly sentinels?: number;
  /**
   * Silence after which a sentinel takes the primary for dead, in milliseconds. Default: 800;
   * below 500, a busy machine makes for failovers without need.
   */
  readonly downAfterMs?: number;
  /** The longest a failover may take, in milliseconds; a new try waits twice that. Default: 2000. */
  readonly failoverMsMax?: number;
  /** More configuration of the primary and its replicas. Default: none. */
  readonly args?: RedisConfig;
  /** Path or name of the server program. Default: redis-server. */
  readonly binary?: string;
}

const masterName = "sluice";
const formedMsMax = 20_000;
const failedOverMsMax = 20_000;

/**
 * Starts a group and returns when the replicas are in sync and every sentinel knows them and all
 * the other sentinels: from then on, a failover works.
 */
export async function startSentinelGroup(options: SentinelOptions = {}): Promise<SentinelGroup> {
  const binary = options.binary ?? ensureRedisServer();
  const replicas = options.replicas ?? 1;
  const started: RedisProcess[] = [];
  try {
    const config = { ...withoutPersistence, ...replicates, ...options.args };
    const primary = await RedisProcess.start({ binary, config });
    started.push(primary);
    const replicaof = `${primary.host} ${primary.port}`;
    const ofPrimary = { binary, config: { ...config, replicaof } };
    started.push(...(await startAll(replicas, ofPrimary)));
    await waitFor("the replicas to be in sync", formedMsMax, () => areInSync(primary, replicas));
    const watching = { binary, config: {}, flags: ["--sentinel"] };
    const sentinels = await startAll(options.sentinels ?? 3, watching);
    const group = new SentinelGroup([...started], sentinels);
    started.push(...sentinels);
    await Promise.all(sentinels.map((each) => watch(each, primary, options)));
    await waitUntilFormed(sentinels, replicas);
    return group;
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

/** A running group. */
export class SentinelGroup {
  /** The name under which sentinels know the primary: `sluice`. */
  readonly masterName: string = masterName;
  /** The servers with data, in no order that a failover keeps. */
  readonly servers: readonly RedisProcess[];
  /** The sentinels: give their addresses to a client. */
  readonly sentinels: readonly RedisProcess[];

  /** Use `startSentinelGroup`. */
  constructor(servers: readonly RedisProcess[], sentinels: readonly RedisProcess[]) {
    this.servers = servers;
    this.sentinels = sentinels;
  }

  /** The server that most sentinels take for the primary, dead or alive; throws if none is. */
  async primary(): Promise<RedisProcess> {
    const ports = await Promise.all(this.sentinels.map(primaryPort));
    const quorum = quorumOf(this.sentinels.length);
    const chosen = this.servers.find(
      ({ port }) => ports.filter((each) => each === port).length >= quorum,
    );
    if (chosen === undefined) throw new Error(`sentinels disagree: ${ports.join(", ")}`);
    return chosen;
  }

  /**
   * Waits until most sentinels name another primary than `before`, and that one takes writes.
   * Returns it; throws after 20 seconds.
   */
  failedOver(before: RedisProcess): Promise<RedisProcess> {
    return waitFor("a failover", failedOverMsMax, async () => {
      const now = await this.primary();
      if (now === before || !now.isRunning) return undefined;
      const [role] = (await now.command("ROLE")) as [string];
      return role === "master" ? now : undefined;
    });
  }

  /** Ends all processes of the group. */
  stop(): Promise<void> {
    return stopAll([...this.sentinels, ...this.servers]);
  }
}

// Sentinels greet each other every two seconds and look for replicas every ten; tests can't wait.
// They also ping only as often as `downAfterMs` if that is short, so that they would take a server
// for dead before its first answer is due, each time they connect. The ping period has a lower
// bound too: a replica is fit for election only if its INFO, asked for every second by then, is
// younger than five of them.
const hurry = [
  ...["PING-PERIOD", 300],
  ...["INFO-PERIOD", 500],
  ...["PUBLISH-PERIOD", 200],
  ...["ASK-PERIOD", 200],
];

async function watch(sentinel: RedisProcess, primary: Address, options: SentinelOptions) {
  const quorum = quorumOf(options.sentinels ?? 3);
  // In this order: the haste has to be there before anything is watched.
  await sentinel.command("SENTINEL", "DEBUG", ...hurry);
  await sentinel.command("SENTINEL", "MONITOR", masterName, primary.host, primary.port, quorum);
  const settings = {
    "down-after-milliseconds": options.downAfterMs ?? 800,
    "failover-timeout": options.failoverMsMax ?? 2000,
  };
  for (const [name, value] of Object.entries(settings))
    await sentinel.command("SENTINEL", "SET", masterName, name, value);
}

async function waitUntilFormed(sentinels: readonly RedisProcess[], replicas: number) {
  await waitFor("the sentinels to know each other", formedMsMax, async () => {
    const seen = await Promise.all(sentinels.map(masterFields));
    const complete = seen.filter(
      (fields) =>
        Number(fields["num-other-sentinels"]) === sentinels.length - 1 &&
        Number(fields["num-slaves"]) === replicas &&
        fields.flags === "master",
    );
    return complete.length === sentinels.length || undefined;
  });
}

async function masterFields(sentinel: RedisProcess): Promise<Record<string, string>> {
  const flat = (await sentinel.command("SENTINEL", "MASTER", masterName)) as string[];
  const pairs = flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : []));
  return Object.fromEntries(pairs);
}

async function primaryPort(sentinel: RedisProcess): Promise<number | undefined> {
  if (!sentinel.isRunning) return undefined;
  const address = await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName);
  return Number((address as string[])[1]);
}

async function areInSync(primary: RedisProcess, replicas: number): Promise<true | undefined> {
  const info = await primary.info("replication");
  const online = Object.values(info).filter((value) => value.includes("state=online"));
  return online.length === replicas || undefined;
}

function quorumOf(sentinels: number): number {
  return Math.floor(sentinels / 2) + 1;
}
