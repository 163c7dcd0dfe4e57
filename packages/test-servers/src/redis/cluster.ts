// A Redis Cluster, formed by our own commands: primaries that share the slots, replicas that take
// over, and slots that move while clients work.

import { waitFor } from "../clock.js";
import { ensureRedisServer } from "../programs/find-server.js";
import { formCluster, idOf } from "./cluster-forming.js";
import { withoutPersistence } from "./redis.js";
import type { RedisConfig, RedisProcess } from "./redis-process.js";
import { replicates, startAll, stopAll } from "./replication.js";
import { slotOf } from "./slot.js";
import { SlotMigration } from "./slot-migration.js";

/** Options of `startCluster`. */
export interface ClusterOptions {
  /** Primaries, at least 3: fewer can't agree on a failover. Default: 3. */
  readonly primaries?: number;
  /** Replicas of each primary. Default: 1. */
  readonly replicasEach?: number;
  /** Silence after which a node is taken for dead, in milliseconds. Default: 1500. */
  readonly nodeTimeoutMs?: number;
  /** More configuration of every node. Default: none. */
  readonly args?: RedisConfig;
  /** Path or name of the server program. Default: redis-server. */
  readonly binary?: string;
}

const failedOverMsMax = 20_000;

/**
 * Starts the nodes, joins them, and returns when every node finds the cluster whole and all
 * replicas are in sync. The slots are shared evenly, in the order of `nodes`.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { primaries = 3, replicasEach = 1 } = options;
  if (primaries < 3) throw new RangeError(`primaries must be at least 3, got ${primaries}`);
  const nodes = await startAll(primaries * (1 + replicasEach), {
    binary: options.binary ?? ensureRedisServer(),
    config: {
      ...withoutPersistence,
      ...replicates,
      "cluster-enabled": "yes",
      "cluster-node-timeout": options.nodeTimeoutMs ?? 1500,
      // A replica may always stand for election, however long it was apart from its primary.
      "cluster-replica-validity-factor": 0,
      ...options.args,
    },
  });
  try {
    await formCluster(nodes, primaries);
    return new Cluster(nodes);
  } catch (error) {
    await stopAll(nodes);
    throw error;
  }
}

/** A running cluster. */
export class Cluster {
  /** All nodes: first those that started as primaries, then their replicas in the same order. */
  readonly nodes: readonly RedisProcess[];

  /** Use `startCluster`. */
  constructor(nodes: readonly RedisProcess[]) {
    this.nodes = nodes;
  }

  /** The slot of a key. */
  slotOf(key: string): number {
    return slotOf(key);
  }

  /** The nodes that run as primaries now and own slots. */
  async primaries(): Promise<RedisProcess[]> {
    const owners = await Promise.all(this.nodes.map(isOwner));
    return this.nodes.filter((_, i) => owners[i]);
  }

  /** The node that owns a slot, by its own account; throws if none does. */
  async ownerOf(slot: number): Promise<RedisProcess> {
    for (const node of await this.primaries())
      if ((await slotsOf(node)).includes(slot)) return node;
    throw new Error(`no running node owns slot ${slot}`);
  }

  /** Moves a slot and its keys to another primary, and notifies all primaries. */
  async migrateSlot(slot: number, to: RedisProcess): Promise<void> {
    if ((await this.ownerOf(slot)) === to) return;
    const migration = await this.openSlot(slot, to);
    await migration.moveKeys();
    await migration.finish();
  }

  /**
   * Begins to move a slot and leaves it half open, for tests of what clients meet meanwhile: ASK
   * for keys that have moved, TRYAGAIN for commands on several keys of which some have.
   */
  async openSlot(slot: number, to: RedisProcess): Promise<SlotMigration> {
    const from = await this.ownerOf(slot);
    return SlotMigration.open({ slot, from, to, primaries: await this.primaries() });
  }

  /** Waits until another node than `before` owns the slot and all that run find the cluster whole. */
  failedOver(slot: number, before: RedisProcess): Promise<RedisProcess> {
    return waitFor(`another owner of slot ${slot}`, failedOverMsMax, async () => {
      const owner = await this.ownerOf(slot);
      const running = this.nodes.filter((node) => node.isRunning);
      const states = await Promise.all(running.map((node) => node.command("CLUSTER", "INFO")));
      const isWhole = states.every((state) => String(state).includes("cluster_state:ok"));
      return owner !== before && isWhole ? owner : undefined;
    });
  }

  /** Ends all nodes. */
  stop(): Promise<void> {
    return stopAll(this.nodes);
  }
}

async function isOwner(node: RedisProcess): Promise<boolean> {
  if (!node.isRunning) return false;
  const [role] = (await node.command("ROLE")) as [string];
  return role === "master" && (await slotsOf(node)).length > 0;
}

/** The slots that a node claims for itself. */
async function slotsOf(node: RedisProcess): Promise<number[]> {
  const id = await idOf(node);
  const lines = String(await node.command("CLUSTER", "NODES")).split("\n");
  const own = lines.find((line) => line.startsWith(id))?.split(" ") ?? [];
  // After eight fields come slots and ranges; those in brackets are on their way.
  return own.slice(8).flatMap((range) => {
    const [first, last] = range.split("-").map(Number) as [number, number?];
    if (Number.isNaN(first)) return [];
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
  });
}
